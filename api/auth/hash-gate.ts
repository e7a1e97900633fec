import { siteOf } from '../../shared/core/client-address.js';
import { Turns } from '../http/workspace-turns.js';

/**
 * Maximum number of passwords hashed concurrently: two for unknown clients, and another one for clients that have
 * signed in before. A hash takes 32 MiB, and about 250 ms on one of the four threads of Node's thread pool. File and
 * DNS calls need the same threads.
 */
const AT_ONCE = { strangers: 2, known: 1 };
const WAITING = { each: 8, all: 64 };

export interface Hasher {
  /** The client's key, as returned by `clientOf` in http/client-identity.ts. */
  client: string;
  /** The account's e-mail address if this client has signed in to it before; otherwise null. */
  account: string | null;
}

/**
 * Limits how many passwords are hashed concurrently and how many requests wait. Unknown clients wait in one queue, in
 * which client networks take turns. Clients that have signed in before have a separate queue, so that anonymous callers
 * cannot prevent account owners from signing in.
 */
export class HashGate {
  readonly #strangers = gate(AT_ONCE.strangers);
  readonly #known = gate(AT_ONCE.known);

  /** Runs the work when it is the client's turn. Throws rate_limited immediately if too many requests wait. */
  async run<T>({ client, account }: Hasher, work: () => Promise<T>): Promise<T> {
    const end = await (account === null ? this.#strangers.take(siteOf(client)) : this.#known.take(account));
    try {
      return await work();
    } finally {
      end();
    }
  }
}

function gate(atOnce: number): Turns {
  return new Turns({ each: atOnce, all: atOnce, waiting: WAITING.each, waitingOfAll: WAITING.all });
}
