import { concurrently } from '../../shared/core/concurrently.js';
import { errorMessage } from '../../shared/core/errors.js';
import type { Logger } from '../../shared/core/log.js';

export interface SweepEachOptions<T> {
  log: Pick<Logger, 'warn'>;
  /** So many items are worked on at a time. */
  atOnce: number;
  /** What has failed, and of which item, for the log. */
  failure: (item: T) => [facts: object, text: string];
}

/**
 * Does a sweep's work for each item and returns the lines of all. A failure is logged: neither that nor a slow item keeps the
 * sweep from the others.
 */
export async function sweepEach<T>(
  items: readonly T[],
  { log, atOnce, failure }: SweepEachOptions<T>,
  work: (item: T) => Promise<readonly string[]>,
): Promise<string[]> {
  const lines: string[] = [];
  await concurrently(items, atOnce, async (item) => {
    try {
      lines.push(...(await work(item)));
    } catch (error) {
      const [facts, text] = failure(item);
      log.warn({ ...facts, err: error }, `${text}: ${errorMessage(error)}`);
    }
  });
  return lines;
}
