import type { Keyring } from './keyring.js';

/** How long a token is valid, in milliseconds. */
const VALID_MS = 15 * 60_000;
const CONTEXT = 'internal-fetch';

/**
 * A token with which a worker of this installation fetches one service's pushed repository from the API. Only holders of the
 * installation's keys can make one.
 */
export function newFetchToken(keyring: Keyring, serviceId: string, now: number): string {
  return keyring.seal(JSON.stringify({ serviceId, until: now + VALID_MS }), CONTEXT).toString('base64url');
}

/** The service that a token is for; null if it is forged or has expired. */
export function serviceOfFetchToken(keyring: Keyring, token: string, now: number): string | null {
  if (!/^[A-Za-z0-9_-]{40,1000}$/.test(token)) return null;
  try {
    const { serviceId, until } = JSON.parse(keyring.open(Buffer.from(token, 'base64url'), CONTEXT));
    return typeof serviceId === 'string' && typeof until === 'number' && until > now ? serviceId : null;
  } catch {
    return null;
  }
}

/** The user name that goes with such a token. */
export const WORKER_NAME = 'ranvier-worker';
