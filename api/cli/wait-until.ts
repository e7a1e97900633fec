import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from './api-client.js';
import type { Cli } from './cli.js';
import { type CliError, EXIT } from './exit-codes.js';

export interface WaitUntil {
  /** In milliseconds. Without it the wait has no end. */
  timeout?: number;
  /** The error after the timeout. */
  late?: () => CliError;
  /** The pause between two calls, in milliseconds. It may depend on the elapsed time. */
  intervalMs: number | ((elapsedMs: number) => number);
  /** Returns the message for a lost connection. It is printed once for each outage. */
  lost?: () => string;
}

const MAX_PAUSE_MS = 15_000;

/**
 * Calls `look`, with the elapsed milliseconds, until it returns something, and returns that.
 * Continues after an outage of the API or a refusal by a limit. Throws `late` after the timeout, and any other error of
 * `look`.
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
