import { siteOf } from '../../shared/core/client-address.js';
import { Turns } from '../http/workspace-turns.js';

/**
 * A password hash takes 32 MiB. For 250 ms it occupies one of the four threads in Node's pool, which file and DNS calls
 * need too.
 */
const AT_ONCE = { strangers: 2, known: 1 };
const WAITING = { each: 8, all: 64 };

export interface Hasher {
  /** The client's key, as returned by `clientOf`. */
  client: string;
  /** The account's e-mail address if this client has signed in to it before; otherwise null. */
  account: string | null;
}

/** Limits concurrent password hashes. Known clients have a queue of their own, so that strangers cannot block them. */
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
