import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from '../../../shared/core/log.js';
import type { EdgeFigures } from '../../../shared/routing/store.js';

export type EdgeCounters = Pick<EdgeFigures, 'failedExchanges' | 'closedConnections' | 'refusedConnections'>;

export interface ContainmentOptions {
  log: Logger;
  counters: EdgeCounters;
  /** What the log says about the exchange: its host and request id. */
  labels: Record<string, string>;
  /** Ends the exchange. It may be called several times and must not rely on the state of the exchange. */
  end: (error: unknown) => void;
}

const current = new AsyncLocalStorage<Containment>();

/**
 * Keeps an exception of one exchange within that exchange: it is logged with the request's id, counted, and the exchange
 * is ended. Callbacks of the exchange go through `guard`. What escapes nevertheless (a library throws in an event of one of
 * its sockets) reaches `containUncaught`, which finds the exchange by the asynchronous context that `run` began.
 */
export class Containment {
  readonly #options: ContainmentOptions;

  constructor(options: ContainmentOptions) {
    this.#options = options;
  }

  /** Runs the work; what it starts, timers and sockets included, belongs to this exchange. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** The callback, made unable to throw. */
  guard<A extends unknown[]>(callback: (...args: A) => void): (...args: A) => void {
    return (...args) => {
      try {
        callback(...args);
      } catch (error) {
        this.caught(error);
      }
    };
  }

  /** Logs and counts the error and ends the exchange. Never throws. */
  caught(error: unknown, message = 'the edge failed on a request'): void {
    const { log, counters, labels, end } = this.#options;
    counters.failedExchanges += 1;
    try {
      log.error({ err: error, ...labels }, message);
      end(error);
    } catch (second) {
      log.error({ err: second, ...labels }, 'an exchange could not be ended in order');
    }
  }
}

/**
 * The last line of defence, for `uncaughtException` and `unhandledRejection`: ends the exchange that the error belongs to and
 * returns true, or returns false if it belongs to none.
 *
 * Node warns that a process is in an unknown state after an uncaught exception, so this is not for errors at large: an
 * error outside of exchanges (the route table, PostgreSQL) still ends the process in order, and it is started again. But
 * everything that a visitor or an application can cause runs inside a `Containment`, and what an exchange holds is its own:
 * its two sockets and its replica's connections, which are destroyed with it. Ending the process instead would let one
 * application take all others down as often as it likes, which is the greater damage.
 */
export function containUncaught(error: unknown): boolean {
  const containment = current.getStore();
  if (containment === undefined) return false;
  containment.caught(error, 'an exception escaped an exchange');
  return true;
}
