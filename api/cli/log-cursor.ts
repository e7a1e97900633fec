import type { ApiClient } from './api-client.js';
import type { LogBatch, LogLine } from './api-types.js';

const BATCH = 500;

/**
 * A position in a log. `path` is the URL path with the log's filters. `at` is a cursor from an earlier response, or 0
 * for the beginning.
 */
export class LogCursor {
  readonly #api: ApiClient;
  readonly #path: string;
  #at: number;

  constructor(api: ApiClient, path: string, at: number) {
    this.#api = api;
    this.#path = path;
    this.#at = at;
  }

  /**
   * Calls `show` for each new line, and returns the number of lines. If a request fails, throws ApiError. The next call
   * then continues without showing a line again.
   */
  async read(show: (line: LogLine) => void): Promise<number> {
    let count = 0;
    for (let more = true; more; ) {
      const batch = await this.#api.once<LogBatch>('GET', `${this.#path}&after=${this.#at}&limit=${BATCH}`);
      for (const line of batch.items) show(line);
      count += batch.items.length;
      this.#at = batch.cursor;
      more = batch.hasMore;
    }
    return count;
  }

  get at(): number {
    return this.#at;
  }
}
