import type { Socket } from 'node:net';
import type { Config } from '../../shared/core/config.js';
import { hashToken, sameSecret } from '../../shared/secrets/random-token.js';
import type { ApiContext } from '../http/request-state.js';
import type { GuessLimit } from './guess-limit.js';

/** Recognises operators of the platform by the dashboard's user name and password. */
export class Operators {
  readonly #credentials: Config['dashboard'];
  readonly #guesses: GuessLimit;
  /** The credentials that were verified on each connection, because one page of the dashboard makes twenty requests. */
  readonly #proved = new WeakMap<Socket, string>();

  constructor(credentials: Config['dashboard'], guesses: GuessLimit) {
    this.#credentials = credentials;
    this.#guesses = guesses;
  }

  /** Returns true if the request has the right basic credentials. Throws rate_limited after too many wrong ones. */
  async proves(ctx: ApiContext): Promise<boolean> {
    const [, encoded = ''] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(ctx.get('Authorization').trim()) ?? [];
    if (encoded === '' || !this.#credentials) return false;
    const proof = hashToken(`${ctx.ip} ${encoded}`).toString('hex');
    if (this.#proved.get(ctx.req.socket) === proof) return true;
    const given = Buffer.from(encoded, 'base64').toString('utf8');
    const { giveBack } = await this.#guesses.password(ctx, given.split(':')[0] ?? '');
    const { user, password } = this.#credentials;
    if (!sameSecret(given, `${user}:${password.reveal()}`)) return false;
    await giveBack();
    this.#proved.set(ctx.req.socket, proof);
    return true;
  }
}
