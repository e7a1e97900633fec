import { randomBytes, timingSafeEqual } from 'node:crypto';
import { hashToken, newToken } from './random-token.js';

/** `rnv_<lookup>_<secret>` (specification, Authentication). The lookup finds the row, and the secret authenticates. */
const PATTERN = /^rnv_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

export interface NewApiKey {
  /** The whole key, which is shown only once and never stored. */
  key: string;
  lookup: string;
  secretHash: Buffer;
}

export interface ParsedApiKey {
  lookup: string;
  secret: string;
}

export function newApiKey(): NewApiKey {
  const lookup = randomBytes(8).toString('hex');
  const { token: secret, hash: secretHash } = newToken();
  return { key: `${keyPrefix(lookup)}_${secret}`, lookup, secretHash };
}

/** Returns the public part of an API key, by which users recognise it. */
export function keyPrefix(lookup: string): string {
  return `rnv_${lookup}`;
}

/** Returns the two parts of an API key; null if the text is malformed. */
export function parseApiKey(text: string): ParsedApiKey | null {
  const [, lookup, secret] = PATTERN.exec(text) ?? [];
  return lookup === undefined || secret === undefined ? null : { lookup, secret };
}

/** Returns true if the secret matches the stored hash. Takes constant time. */
export function matches(secret: string, secretHash: Buffer): boolean {
  const found = hashToken(secret);
  return found.length === secretHash.length && timingSafeEqual(found, secretHash);
}
