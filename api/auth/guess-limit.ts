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

/** Takes a counted guess back, because it was right: only wrong guesses count. */
type GiveBack = () => Promise<void>;

interface Guess extends Hasher {
  giveBack: GiveBack;
}

/**
 * Limits guesses at passwords and codes, across all ways to sign in. Wrong guesses count against the client that makes
 * them, so that an attacker cannot lock out an account's owner. After too many wrong guesses at one account, clients
 * have to wait, unless they have signed in to the account before.
 */
export interface GuessLimit {
  /** Counts one guess at the password of this user name. Throws rate_limited. */
  password(ctx: ApiContext, name: string): Promise<Guess>;
  /**
   * Counts one guess at a user's one-time code. Throws rate_limited for known clients too: a code has only six digits,
   * and this client already has the password or a session.
   */
  code(ctx: ApiContext, userId: string): Promise<GiveBack>;
}

const SECONDS = 300;
/**
 * Wrong guesses allowed in SECONDS: by one client, by one client for one account, by all clients for one account, and
 * of one-time codes for one user.
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

/** Hashes the parts of a limiter's key, because a user name can be longer than the column. */
function keyOf(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
