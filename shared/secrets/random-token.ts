import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits. The database stores only their hash. */
export interface NewToken {
  token: string;
  hash: Buffer;
}

export function newToken(): NewToken {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashToken(token) };
}

/** Returns true if the text has the format of a token created by `newToken`. */
export function isToken(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** Returns a token's plain SHA-256 digest, which suffices because 256 random bits cannot be guessed. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares two strings in a time that does not depend on their content. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(hashToken(given), hashToken(expected));
}
