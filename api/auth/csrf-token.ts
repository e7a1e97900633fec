import { createHmac, hkdfSync } from 'node:crypto';
import { sameSecret } from '../../shared/secrets/random-token.js';

/** Derives CSRF tokens from session cookies, so that none are stored (specification, Authentication 3). */
export class CsrfTokens {
  readonly #key: Buffer;

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
