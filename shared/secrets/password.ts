import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

const COST = 2 ** 15;
const BLOCK_SIZE = 8;
const PARALLELIZATION = 3;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** scrypt needs 128 · cost · block size bytes. Node.js refuses more than 32 MiB unless `maxmem` allows it. */
const MEMORY_FACTOR = 256;

/** Returns a salted scrypt hash. It contains its parameters, so that later versions can raise them. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, COST, BLOCK_SIZE, PARALLELIZATION);
  return ['scrypt', COST, BLOCK_SIZE, PARALLELIZATION, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Compares a password with its hash, in constant time.
 * Null, for a user that does not exist, takes as long and returns false.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  if (hash === null) {
    await hashPassword(password);
    return false;
  }
  const [kind, cost, blockSize, parallelization, salt, key] = hash.split('$');
  if (kind !== 'scrypt' || salt === undefined || key === undefined) throw new Error('the password hash is unreadable');
  const expected = Buffer.from(key, 'base64');
  const found = await derive(
    password,
    Buffer.from(salt, 'base64'),
    Number(cost),
    Number(blockSize),
    Number(parallelization),
  );
  return expected.length === found.length && timingSafeEqual(expected, found);
}

/** Returns a random password for a person to copy. */
export function newPassword(): string {
  return randomBytes(15).toString('base64url');
}

function derive(
  password: string,
  salt: Buffer,
  cost: number,
  blockSize: number,
  parallelization: number,
): Promise<Buffer> {
  const options: ScryptOptions = { cost, blockSize, parallelization, maxmem: MEMORY_FACTOR * cost * blockSize };
  return new Promise((resolve, reject) => {
    // Two keyboards may enter one password as different code points; NFKC makes them equal.
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
