import { siteOf } from '../../shared/core/client-address.js';
import { Turns } from '../http/workspace-turns.js';

/**
 * How many passwords are hashed at the same time. One hash takes 32 MiB and, for about 250 ms, one of the four threads
 * that file and DNS calls share. Unknown clients share two; clients that have signed in before get one more.
 */
const AT_ONCE = { strangers: 2, known: 1 };
const WAITING = { each: 8, all: 64 };

export interface Hasher {
  /** The client's name, as `clientOf` in http/client-identity.ts returns it. */
  client: string;
  /** The account, if this client has signed in to it before; otherwise null. */
  account: string | null;
}

/**
 * Limits how many passwords are hashed at once, and how many requests wait. Networks of waiting clients take turns.
 * Known accounts have a separate queue, so that anonymous callers cannot keep their owners from signing in.
 */
export class HashGate {
  readonly #strangers = gate(AT_ONCE.strangers);
  readonly #known = gate(AT_ONCE.known);

  /** Runs the work when its turn comes. Throws rate_limited at once if too many requests wait. */
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
