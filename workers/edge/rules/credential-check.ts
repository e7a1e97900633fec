import { createHash } from 'node:crypto';
import type { BasicCredentials } from '../../../shared/core/basic-credentials.js';
import type { RuleUser } from '../../../shared/rules/model.js';
import { verifyPassword } from '../../../shared/secrets/password.js';

/** Remembered results of one rule. Each takes some 100 bytes. */
const MAX_KNOWN = 1_000;
/** Unfinished checks of one rule. Each takes some 50 ms. */
const MAX_WAITING = 8;
/**
 * How many passwords of all rules are checked at the same time. A check occupies one of the four threads that read
 * files.
 */
const AT_ONCE = 2;

/**
 * Remembers which passwords are right, because a browser sends its password with each request. Checks one password of a
 * rule at a time, so that the rule does not delay the checks of other rules.
 */
export class CredentialMemory {
  /** Digest of name and password → whether they are right. */
  readonly #known = new Map<string, boolean>();
  readonly #running = new Map<string, Promise<boolean>>();
  #last: Promise<unknown> = Promise.resolve();

  /** Returns the remembered result, or a promise if the password must be checked; null if too many checks wait. */
  check(users: readonly RuleUser[], { name, password }: BasicCredentials): boolean | Promise<boolean> | null {
    const digest = createHash('sha256').update(`${name}\0${password}`).digest('base64');
    const known = this.#known.get(digest) ?? this.#running.get(digest);
    if (known !== undefined) return known;
    if (this.#running.size >= MAX_WAITING) return null;
    const user = users.find((one) => one.name === name);
    // An unknown name takes as long as a wrong password, so that the time does not reveal which names exist.
    const hash = user?.hash ?? users.find((one) => one.hash !== null)?.hash ?? null;
    if (hash === null) return false;
    const result = this.#last
      .then(() => inTurn(() => verifyPassword(password, hash)))
      .then((isRight) => this.#remember(digest, isRight && user?.hash === hash))
      .finally(() => this.#running.delete(digest));
    this.#running.set(digest, result);
    this.#last = result.catch(() => undefined);
    return result;
  }

  #remember(digest: string, isRight: boolean): boolean {
    const [oldest] = this.#known.keys();
    // Wrong passwords are removed first, so that guesses do not displace the passwords of visitors.
    if (this.#known.size >= MAX_KNOWN && oldest !== undefined) {
      const wrong = [...this.#known].find(([, right]) => !right)?.[0];
      this.#known.delete(wrong ?? oldest);
    }
    this.#known.set(digest, isRight);
    return isRight;
  }
}

let free = AT_ONCE;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free -= 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  }
}
