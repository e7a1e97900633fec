import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from './api-client.js';
import type { Cli } from './cli.js';
import { type CliError, EXIT } from './exit-codes.js';

export interface WaitUntil {
  /** Maximum time to wait, in milliseconds; unlimited if absent. */
  timeout?: number;
  /** Creates the error that is thrown after the timeout. */
  late?: () => CliError;
  /** Milliseconds between two polls, or a function that returns them: the interval may grow with the elapsed time. */
  intervalMs: number | ((elapsedMs: number) => number);
  /** Returns the message that is printed once when the connection is lost. */
  lost?: () => string;
}

const MAX_PAUSE_MS = 15_000;

/**
 * Calls `look` with the elapsed milliseconds until it returns a value, and resolves to the value. Continues after an
 * outage of the API or a rate limit. Throws `late` after the timeout, and all other errors of `look`.
 */
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
