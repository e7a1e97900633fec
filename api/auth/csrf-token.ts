import { createHmac, hkdfSync } from 'node:crypto';
import { sameSecret } from '../../shared/secrets/random-token.js';

/**
 * CSRF tokens for writes with a session (specification, Authentication 3). A token is derived from the session cookie:
 * nothing is stored, and a new cookie invalidates the old token.
 */
export class CsrfTokens {
  readonly #key: Buffer;

  /** `secret` is the installation's key material, from which the CSRF key is derived. */
  constructor(secret: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'ranvier.csrf', 32));
  }

  tokenFor(cookie: string): string {
    return createHmac('sha256', this.#key).update(cookie).digest('base64url');
  }

  matches(cookie: string, given: string): boolean {
    return sameSecret(given, this.tokenFor(cookie));
  }
}
