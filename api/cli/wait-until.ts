import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from './api-client.js';
import type { Cli } from './cli.js';
import { CliError, EXIT } from './exit-codes.js';
import { seconds } from './terminal-text.js';

export interface WaitOptions {
  detach?: boolean;
  /** Maximum time to wait, in milliseconds. The work on the platform continues afterwards. */
  timeout: number;
}

export interface WaitUntil {
  /** Maximum time to wait, in milliseconds; unlimited if absent. */
  timeout?: number;
  late?: () => CliError;
  /** Milliseconds between two polls, or a function that returns them. */
  intervalMs: number | ((elapsedMs: number) => number);
  /** Returns the message that is printed once when the connection is lost. */
  lost?: () => string;
}

const MAX_PAUSE_MS = 15_000;
const RECORD_INTERVAL_MS = 500;

/** Calls `look` until it returns a value, even through outages of the API. Throws `late()` after the timeout. */
export async function waitUntil<T extends object>(
  { signal, terminal }: Cli,
  { timeout = Number.POSITIVE_INFINITY, late, intervalMs, lost }: WaitUntil,
  look: (elapsedMs: number) => Promise<T | undefined>,
): Promise<T> {
  let failures = 0;
  for (const begun = performance.now(); ; ) {
    const elapsed = performance.now() - begun;
    if (late !== undefined && elapsed > timeout) throw late();
    let pause = typeof intervalMs === 'number' ? intervalMs : intervalMs(elapsed);
    try {
      const found = await look(elapsed);
      if (found !== undefined) return found;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) || !error.passing) throw error;
      if (failures === 0 && error.exitCode !== EXIT.rateLimited)
        terminal.say(lost?.() ?? '  the connection was lost, trying again');
      failures += 1;
      pause = Math.max(error.retryAfter * 1000, Math.min(250 * 2 ** failures, MAX_PAUSE_MS));
    }
    await delay(pause, undefined, { signal });
  }
}

/** Waits until a record has succeeded. Throws with exit code 20 if it failed, and with 22 after the timeout. */
export function recordEnded<T extends { status: string }>(
  cli: Cli,
  { what, why, timeout }: { what: string; why: (record: T) => string; timeout: number },
  read: () => Promise<T>,
): Promise<T> {
  const late = () => new CliError(EXIT.timedOut, `After ${seconds(timeout)} the ${what} has not ended. It continues`);
  return waitUntil(cli, { timeout, late, intervalMs: RECORD_INTERVAL_MS }, async (elapsed) => {
    const record = await read();
    if (record.status === 'succeeded') return record;
    if (record.status === 'failed') throw new CliError(EXIT.failed, why(record));
    cli.terminal.progress(`  ${what}  ${record.status}  ${seconds(elapsed)}`);
    return undefined;
  });
}
