import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runLimited } from '../../../shared/core/run-limited.js';

/** Unpacks an archive of Node.js in `folder`, because install scripts, which would do so, never run. */
export async function unpackNode(folder: string, signal: AbortSignal): Promise<void> {
  const archive = (await readdir(folder)).find((name) => /^node-v[\w.-]{1,60}\.tar\.gz$/.test(name));
  if (archive === undefined) return;
  await runLimited('tar', ['-xzf', join(folder, archive), '-C', folder, '--strip-components=1', '--no-same-owner'], {
    signal,
  });
}
