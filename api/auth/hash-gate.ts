import { siteOf } from '../../shared/core/client-address.js';
import { Turns } from '../http/workspace-turns.js';

/**
 * How many passwords are hashed at a time. Each takes 32 MiB and, for a quarter of a second, one of the four threads
 * that file and DNS calls share. Unknown clients share two of them; clients that have signed in before get one more.
 */
const AT_ONCE = { strangers: 2, known: 1 };
const WAITING = { each: 8, all: 64 };

/** The caller that needs a password hashed. */
export interface Hasher {
  /** The name under which limits know the client (http/client-identity.ts). */
  client: string;
  /** The account, if the client has provably signed in to it before; otherwise null. */
  account: string | null;
}

/**
 * Limits how many passwords are hashed at the same time, and how many wait. Sites take turns, and each known account
 * has a separate line, so that anonymous callers do not keep others from signing in.
 */
export class HashGate {
  readonly #strangers = gate(AT_ONCE.strangers);
  readonly #known = gate(AT_ONCE.known);

  /** Runs the work in its turn. Throws rate_limited at once if too many wait, in total or of this site or account. */
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
