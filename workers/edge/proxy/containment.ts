import { AsyncLocalStorage, executionAsyncResource } from 'node:async_hooks';
import type { Socket } from 'node:net';
import type { Logger } from '../../../shared/core/log.js';
import type { EdgeFigures } from '../../../shared/routing/store.js';

export type EdgeCounters = Pick<EdgeFigures, 'failedExchanges' | 'closedConnections' | 'refusedConnections'>;

export interface ContainmentOptions {
  log: Logger;
  counters: EdgeCounters;
  labels: Record<string, string>;
  /** Aborts the exchange. May be called several times and in any state. */
  end: (error: unknown) => void;
}

const current = new AsyncLocalStorage<Containment>();
/** How long asynchronous contexts stay enabled while unused. They slow requests by 10 %. */
const CONTEXTS_OFF_MS = 10_000;
let contexts = 0;
let off: NodeJS.Timeout | null = null;

/** Contains an exception of one exchange: logs and counts it, and aborts only that exchange. */
export class Containment {
  readonly #options: ContainmentOptions;
  #hasContext = false;

  constructor(options: ContainmentOptions) {
    this.#options = options;
  }

  /** Runs library code whose callbacks `guard` cannot wrap. Their errors belong to this exchange until `ended`. */
  run<T>(work: () => T): T {
    if (!this.#hasContext) contexts += 1;
    this.#hasContext = true;
    if (off !== null) clearTimeout(off);
    off = null;
    return current.run(this, work);
  }

  ended(): void {
    if (!this.#hasContext) return;
    this.#hasContext = false;
    contexts -= 1;
    if (contexts === 0) off = setTimeout(() => current.disable(), CONTEXTS_OFF_MS).unref();
  }

  guard<A extends unknown[]>(callback: (...args: A) => void): (...args: A) => void {
    return (...args) => {
      try {
        callback(...args);
      } catch (error) {
        this.caught(error);
      }
    };
  }

  /** Logs and counts the error and aborts the exchange. Never throws. */
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

/** Socket, or its internal handle → the handler of exceptions that occur in its events. */
const owners = new WeakMap<object, (error: unknown) => void>();

/** Makes `caught` handle exceptions from this socket's events and from requests on it. */
export function ownSocket(socket: Socket, caught: (error: unknown) => void): void {
  owners.set(socket, caught);
  if ('_handle' in socket && isObject(socket._handle)) owners.set(socket._handle, caught);
}

/** `resource` is a socket's handle, an HTTP parser, or an object with the arguments of a later callback. */
function ownerOf(resource: object): ((error: unknown) => void) | undefined {
  const later = 'args' in resource && Array.isArray(resource.args) ? resource.args : [];
  for (const given of [resource, ...later]) {
    if (!isObject(given)) continue;
    const req = 'req' in given ? given.req : given;
    const socket = isObject(req) && 'socket' in req ? req.socket : null;
    const stream = 'stream' in given ? given.stream : null;
    for (const known of [given, socket, stream]) {
      const owner = isObject(known) ? owners.get(known) : undefined;
      if (owner !== undefined) return owner;
    }
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Handles `uncaughtException` and `unhandledRejection`. Returns false if the error belongs to no exchange. Node.js
 * warns that a process is in an unknown state after an uncaught exception, so an error outside exchanges ends the
 * process. But an error that a visitor or an application can cause aborts only its exchange. If it ended the process,
 * one application could make all others unavailable.
 */
export function containUncaught(error: unknown): boolean {
  const containment = current.getStore();
  if (containment !== undefined) {
    containment.caught(error, 'an exception escaped an exchange');
    return true;
  }
  const owner = ownerOf(executionAsyncResource());
  owner?.(error);
  return owner !== undefined;
}
