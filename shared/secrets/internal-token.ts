import type { Keyring } from './keyring.js';

/** Lifetime of a fetch token. */
const VALID_MS = 15 * 60_000;
const CONTEXT = 'internal-fetch';

/** Returns a token with which a worker fetches one service's pushed repository from the API. */
export function newFetchToken(keyring: Keyring, serviceId: string, now: number): string {
  return newToken(keyring, serviceId, CONTEXT, now + VALID_MS);
}

function newToken(keyring: Keyring, subject: string, context: string, until: number): string {
  return keyring.seal(JSON.stringify({ subject, until }), context).toString('base64url');
}

/** Returns the service for which a fetch token was issued; null if the token is forged or expired. */
export function serviceOfFetchToken(keyring: Keyring, token: string, now: number): string | null {
  return subjectOf(keyring, token, CONTEXT, now);
}

function subjectOf(keyring: Keyring, token: string, context: string, now: number): string | null {
  if (!/^[A-Za-z0-9_-]{40,1000}$/.test(token)) return null;
  try {
    const { subject, until } = JSON.parse(keyring.open(Buffer.from(token, 'base64url'), context));
    return typeof subject === 'string' && typeof until === 'number' && until > now ? subject : null;
  } catch {
    return null;
  }
}

const FORWARD_MS = 60_000;
const FORWARD_CONTEXT = 'internal-forward';

/** Returns a token for forwarding a request for a pushed repository to another API process. */
export function newForwardToken(keyring: Keyring, repository: string, now: number): string {
  return newToken(keyring, repository, FORWARD_CONTEXT, now + FORWARD_MS);
}

/** Returns true if another API process of this installation forwarded this request for the repository. */
export function isForwarded(keyring: Keyring, token: string, repository: string, now: number): boolean {
  return subjectOf(keyring, token, FORWARD_CONTEXT, now) === repository;
}

/** User name of a git request whose password is a fetch token. */
export const WORKER_NAME = 'ranvier-worker';
