import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runLimited } from '../../../shared/core/run-limited.js';

/**
 * Unpacks the official archive that the packages of the oldest versions of Node.js contain; their install script would do
 * it, and none runs here. `folder` is the package's. Other packages stay as they are.
 */
export async function unpackNode(folder: string, signal: AbortSignal): Promise<void> {
  const archive = (await readdir(folder)).find((name) => /^node-v[\w.-]{1,60}\.tar\.gz$/.test(name));
  if (archive === undefined) return;
  await runLimited('tar', ['-xzf', join(folder, archive), '-C', folder, '--strip-components=1', '--no-same-owner'], {
    signal,
  });
}
