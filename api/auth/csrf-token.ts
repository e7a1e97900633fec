import { createHmac, hkdfSync } from 'node:crypto';
import { sameSecret } from '../../shared/secrets/random-token.js';

/**
 * The tokens that a page must send with a session's writes (specification, Authentication 3). A token is derived from
 * its cookie: nothing is stored, another session's token is wrong, and a new cookie invalidates the old token.
 */
export class CsrfTokens {
  readonly #key: Buffer;

  /** `secret` is the installation's key material; our own key is derived from it. */
  constructor(secret: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'ranvier.csrf', 32));
  }

  tokenFor(cookie: string): string {
    return createHmac('sha256', this.#key).update(cookie).digest('base64url');
  }

  /** Compares in constant time. */
  matches(cookie: string, given: string): boolean {
    return sameSecret(given, this.tokenFor(cookie));
  }
}
