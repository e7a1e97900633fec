import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { sameSecret } from '../../../../shared/secrets/random-token.js';
import type { Bindings } from './provider-client.js';

/** How long a sign-in at the provider may take, in milliseconds. */
const LIFETIME_MS = 10 * 60_000;

/** Binds each sign-in to its browser. All values derive from the browser's cookie and the state: nothing is stored. */
export class SignInStates {
  readonly #key: Buffer;

  constructor(secret: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'ranvier.sign-in-state', 32));
  }

  begin(browser: string, returnTo: string): Bindings {
    const text = JSON.stringify([randomBytes(16).toString('base64url'), Date.now(), returnTo]);
    const content = Buffer.from(text).toString('base64url');
    return this.#bindings(browser, `${content}.${this.#derive(browser, 'state', content)}`);
  }

  /** Returns the values of a sign-in; null if another browser started the sign-in, or if it took too long. */
  resume(browser: string, state: string): { bindings: Bindings; returnTo: string } | null {
    const [content = '', proof = ''] = state.split('.');
    if (!sameSecret(proof, this.#derive(browser, 'state', content))) return null;
    const [, at, returnTo] = JSON.parse(Buffer.from(content, 'base64url').toString()) as [string, number, string];
    return Date.now() - at > LIFETIME_MS ? null : { bindings: this.#bindings(browser, state), returnTo };
  }

  #bindings(browser: string, state: string): Bindings {
    return { state, nonce: this.#derive(browser, 'nonce', state), verifier: this.#derive(browser, 'verifier', state) };
  }

  #derive(browser: string, use: string, text: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([browser, use, text]))
      .digest('base64url');
  }
}

const MAX_PATH_LENGTH = 500;

/** Returns the path if it is a page of this installation, otherwise `/`. */
export function localPath(path: string | undefined): string {
  if (path === undefined || path.length > MAX_PATH_LENGTH) return '/';
  // Browsers treat a backslash as a slash, and ignore tabs and line breaks.
  const local = /^\/(?![/\\])[!-~]*$/.test(path) && !/^\/api(\/|$)/.test(path);
  return local ? path : '/';
}
