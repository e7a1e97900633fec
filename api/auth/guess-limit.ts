import { createHash } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Db } from '../../shared/core/database/database-client.js';
import { AppError } from '../../shared/core/error-registry.js';
import { isKnownClient } from '../../shared/identity/session-store.js';
import { clientOf } from '../http/client-identity.js';
import { consume, createLimiter, type Limiter } from '../http/rate-limit.js';
import type { ApiContext } from '../http/request-state.js';
import type { Hasher } from './hash-gate.js';
import { SlowLane } from './slow-lane.js';

/** Undoes the count of a guess that was correct. */
type GiveBack = () => Promise<void>;

interface Guess extends Hasher {
  giveBack: GiveBack;
}

/** Limits wrong guesses. Password guesses of other clients do not lock out the known clients of an account's owner. */
export interface GuessLimit {
  /** Counts a guess at a user's password. Throws rate_limited after too many wrong guesses. */
  password(ctx: ApiContext, name: string): Promise<Guess>;
  /** Counts a guess at a user's one-time code. Limits known clients too, because a code has only six digits. */
  code(ctx: ApiContext, userId: string): Promise<GiveBack>;
  /** Counts a sign-in with the identity provider only for the client, because the account is not known yet. */
  stranger(ctx: ApiContext): Promise<GiveBack>;
}

const SECONDS = 300;
/**
 * Maximum wrong guesses in `SECONDS`. `pair` is one client at one account. Guesses beyond `account` are slowed, not
 * refused.
 */
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
    async stranger(ctx) {
      const client = await clientOf(ctx);
      await consume(ctx, clients, client);
      return () => giveBack([[clients, client]]);
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

/** Hashes the parts, because a user name can be longer than the database column for keys. */
function keyOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
