import type { Socket } from 'node:net';
import { basicCredentials } from '../../shared/core/basic-credentials.js';
import type { Config } from '../../shared/core/config.js';
import { hashToken, sameSecret } from '../../shared/secrets/random-token.js';
import type { ApiContext } from '../http/request-state.js';
import type { GuessLimit } from './guess-limit.js';

/** Authenticates operators of the platform by the dashboard's user name and password. */
export class Operators {
  readonly #credentials: Config['dashboard'];
  readonly #guesses: GuessLimit;
  /**
   * Connection → hash of the credentials that were verified on it. Later requests with these credentials are not
   * counted as guesses, because one page sends twenty requests.
   */
  readonly #proved = new WeakMap<Socket, string>();

  constructor(credentials: Config['dashboard'], guesses: GuessLimit) {
    this.#credentials = credentials;
    this.#guesses = guesses;
  }

  /** Returns true if the request has the correct basic credentials. Throws rate_limited after too many wrong ones. */
  async proves(ctx: ApiContext): Promise<boolean> {
    const given = basicCredentials(ctx.get('Authorization'));
    if (given === null || !this.#credentials) return false;
    const proof = hashToken(`${ctx.ip} ${given.name}:${given.password}`).toString('hex');
    if (this.#proved.get(ctx.req.socket) === proof) return true;
    const { giveBack } = await this.#guesses.password(ctx, given.name);
    const { user, password } = this.#credentials;
    if (!sameSecret(`${given.name}:${given.password}`, `${user}:${password.reveal()}`)) return false;
    await giveBack();
    this.#proved.set(ctx.req.socket, proof);
    return true;
  }
}
