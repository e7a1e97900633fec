import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import { concurrently } from './concurrently.js';

export interface SweepEachOptions<T> {
  log: Pick<Logger, 'warn'>;
  atOnce: number;
  /** The log message for a failed item, before the error's message. */
  failure: string;
  /** Returns the fields that identify an item in the log. */
  facts: (item: T) => object;
}

/** Runs a sweep's work for each item, and returns all log lines. A failed item is logged and skipped. */
export async function sweepEach<T>(
  items: readonly T[],
  { log, atOnce, failure, facts }: SweepEachOptions<T>,
  work: (item: T) => Promise<readonly string[]>,
): Promise<string[]> {
  const lines: string[] = [];
  await concurrently(items, atOnce, async (item) => {
    try {
      lines.push(...(await work(item)));
    } catch (error) {
      log.warn({ ...facts(item), err: error }, `${failure}: ${errorMessage(error)}`);
    }
  });
  return lines;
}
