import { errorMessage } from '../../shared/core/errors.js';
import type { Logger } from '../../shared/core/log.js';
import { concurrently } from './concurrently.js';

export interface SweepEachOptions<T> {
  log: Pick<Logger, 'warn'>;
  /** Items that are worked on at a time. */
  atOnce: number;
  /** The line of the log about an item that has failed. The error's message follows it. */
  failure: string;
  /** Which item it is, for that line. */
  facts: (item: T) => object;
}

/**
 * Does a sweep's work for each item and returns the lines of all. A failure is logged: neither that nor a slow item keeps the
 * sweep from the others.
 */
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
