import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../shared/core/error-registry.js';
import { buildConsole } from './console-build.js';

// Builds the console unless this version is already built. With `--watch`, builds again after each change.

const POLL_INTERVAL_MS = 700;
const watch = process.argv.includes('--watch');

do {
  const begun = performance.now();
  try {
    const { version, built } = await buildConsole();
    if (built) say(`console ${version} was built in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  } catch (error) {
    process.stderr.write(`The console cannot be built: ${errorMessage(error)}\n`);
    if (!watch) process.exitCode = 1;
  }
  if (watch) await delay(POLL_INTERVAL_MS);
} while (watch);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
