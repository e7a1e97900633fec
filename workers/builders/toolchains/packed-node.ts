import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runLimited } from '../../../shared/core/run-limited.js';

/**
 * Unpacks the official archive in packages of the oldest Node.js versions. Leaves other packages as they are.
 * Their install script would unpack it, but install scripts never run here. `folder` is the package's.
 */
export async function unpackNode(folder: string, signal: AbortSignal): Promise<void> {
  const archive = (await readdir(folder)).find((name) => /^node-v[\w.-]{1,60}\.tar\.gz$/.test(name));
  if (archive === undefined) return;
  await runLimited('tar', ['-xzf', join(folder, archive), '-C', folder, '--strip-components=1', '--no-same-owner'], {
    signal,
  });
}
