import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Cost parameters of scrypt. The time is proportional to `cost` times `parallelization`. */
interface Work {
  cost: number;
  parallelization: number;
}
const ACCOUNT: Work = { cost: 2 ** 15, parallelization: 3 };
/** Cost of hashing passwords that an edge checks while it proxies requests. Takes a sixth of the default time. */
export const QUICK: Work = { cost: 2 ** 14, parallelization: 1 };
const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** scrypt needs 128 · cost · block size bytes. `maxmem` is twice that, because Node.js allows 32 MiB by default. */
const MEMORY_FACTOR = 256;

/** Returns a salted scrypt hash. It includes its parameters, so that later versions can raise them. */
export async function hashPassword(password: string, { cost, parallelization }: Work = ACCOUNT): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, { cost, blockSize: BLOCK_SIZE, parallelization });
  return ['scrypt', cost, BLOCK_SIZE, parallelization, salt.toString('base64'), key.toString('base64')].join('$');
}

/** Compares a password with its hash in constant time. A null hash, for an unknown user, takes equally long. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  if (hash === null) {
    await hashPassword(password);
    return false;
  }
  const [kind, cost, blockSize, parallelization, salt, key] = hash.split('$');
  if (kind !== 'scrypt' || salt === undefined || key === undefined) throw new Error('the password hash is unreadable');
  const expected = Buffer.from(key, 'base64');
  const work = { cost: Number(cost), blockSize: Number(blockSize), parallelization: Number(parallelization) };
  const found = await derive(password, Buffer.from(salt, 'base64'), work);
  return expected.length === found.length && timingSafeEqual(expected, found);
}

/** Returns a random password for a user to copy. */
export function newPassword(): string {
  return randomBytes(15).toString('base64url');
}

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

function derive(password: string, salt: Buffer, work: Work & { blockSize: number }): Promise<Buffer> {
  const maxmem = MEMORY_FACTOR * work.cost * work.blockSize;
  // Different keyboards may enter the same password as different code points; NFKC makes them equal.
  return scryptKey(password.normalize('NFKC'), salt, KEY_BYTES, { ...work, maxmem });
}
