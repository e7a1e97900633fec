import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A token of 256 random bits: the holder gets the token, the database its hash. */
export interface NewToken {
  token: string;
  hash: Buffer;
}

export function newToken(): NewToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** Hashes with a plain digest, which suffices: there is nothing to guess in 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares in a time that depends on neither text's content. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(expected));
}
