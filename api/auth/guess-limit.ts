import { createHash } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Db } from '../../shared/core/database/client.js';
import { AppError } from '../../shared/core/errors.js';
import { isKnownClient } from '../../shared/identity/session-store.js';
import { clientOf } from '../http/client.js';
import { consume, createLimiter, type Limiter } from '../http/rate-limit.js';
import type { ApiContext } from '../http/state.js';
import type { Hasher } from './hash-gate.js';
import { SlowLane } from './slow-lane.js';

/** Gives a try back after a right guess, so that only wrong guesses count. */
type GiveBack = () => Promise<void>;

/** A try at a password. */
interface Guess extends Hasher {
  giveBack: GiveBack;
}

/**
 * Limits guesses at secrets, for all ways to sign in together. An attacker cannot lock out the owner of an account: wrong
 * guesses count against the client that makes them. Past the limit of an account, unknown clients take turns, and clients
 * that have signed in to it before do not wait.
 */
export interface GuessLimit {
  /** Takes one try at the password of a user name. Throws rate_limited. */
  password(ctx: ApiContext, name: string): Promise<Guess>;
  /**
   * Takes one try at a user's one-time code. Throws rate_limited for known clients too: six digits are few, and a client
   * that gets here has the password or a session.
   */
  code(ctx: ApiContext, userId: string): Promise<GiveBack>;
}

const SECONDS = 300;
/** Wrong guesses in that time: by a client, by a client at one account, by all clients at one account, at codes. */
const WRONG = { client: 50, pair: 10, account: 100, code: 10 };
const TURN = { intervalMs: 1000, longestWaitMs: 20_000 };

export function createGuessLimit(db: Db): GuessLimit {
  const clients = createLimiter(db, 'guess-client', WRONG.client, SECONDS);
  const pairs = createLimiter(db, 'guess-pair', WRONG.pair, SECONDS);
  const accounts = createLimiter(db, 'guess-account', WRONG.account, SECONDS);
  const codes = createLimiter(db, 'guess-code', WRONG.code, SECONDS);
  const slowLane = new SlowLane(TURN);

  return {
    async password(ctx, name) {
      const email = name.trim().toLowerCase();
      const client = await clientOf(ctx);
      const known = await isKnownClient(db, email, client).catch(() => false);
      const taken: [Limiter, string][] = [];
      const take = async (limiter: Limiter, key: string) => {
        await consume(ctx, limiter, key);
        taken.push([limiter, key]);
      };
      if (!known) await take(clients, client);
      await take(pairs, keyOf(email, client));
      if (!known) {
        const account = keyOf(email);
        if (await hasRoom(accounts, account)) taken.push([accounts, account]);
        else if (!(await slowLane.turn(account))) throw new AppError('rate_limited');
      }
      return { client, account: known ? email : null, giveBack: () => giveBack(taken) };
    },
    async code(ctx, userId) {
      const client = await clientOf(ctx);
      await consume(ctx, clients, client);
      await consume(ctx, codes, userId);
      return () =>
        giveBack([
          [clients, client],
          [codes, userId],
        ]);
    },
  };
}

async function giveBack(taken: readonly [Limiter, string][]): Promise<void> {
  for (const [limiter, key] of taken) await limiter.reward(key);
}

async function hasRoom(limiter: Limiter, key: string): Promise<boolean> {
  try {
    await limiter.consume(key);
    return true;
  } catch (error) {
    if (error instanceof RateLimiterRes) return false;
    throw error;
  }
}

/** Returns a hash, because an account's name can be longer than the column. */
function keyOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
