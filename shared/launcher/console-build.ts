import { fileURLToPath } from 'node:url';
import { errorMessage } from '../core/error-registry.js';
import type { Logger } from '../core/log.js';
import { spawnTethered } from './tethered-child.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = 'dist/api/pages/build-console.js';

/**
 * Builds the console in a separate process, unless it was built for this version. A failure is only logged. Returns a
 * function that aborts the build.
 */
export async function startConsoleBuild({ label, log }: { label: string; log: Logger }): Promise<() => unknown> {
  try {
    const child = await spawnTethered([process.execPath, '--enable-source-maps', PROGRAM], {
      stopSignal: 'TERM',
      orphanSeconds: 1,
      label,
      env: process.env,
      cwd: ROOT,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    void child.ended.then((end) => {
      if (end === 'exit code 0') log.debug(output.trim() || 'the console was built before');
      else if (!end.startsWith('signal'))
        log.error(`${output.trim() || `Its build ended with ${end}`}\nThe API works without the console.`);
    });
    return async () => {
      child.kill('SIGTERM');
      await child.ended;
    };
  } catch (error) {
    log.error(`The console cannot be built: ${errorMessage(error)}`);
    return () => undefined;
  }
}
