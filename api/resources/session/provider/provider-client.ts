import type { Configuration, ServerMetadata } from 'openid-client';
import type { Config } from '../../../../shared/core/config.js';
import { SIGN_IN_PATH } from '../../../pages/console-router.js';
import { CALLBACK_PATH } from './paths.js';
import type { ProviderPerson } from './person.js';
import { SignInFailure } from './sign-in-failure.js';

type Provider = NonNullable<Config['oidc']>;

/** Values that bind the provider's response to one sign-in. Each sign-in needs new values. */
export interface Bindings {
  state: string;
  nonce: string;
  /** The PKCE code verifier. */
  verifier: string;
}

/** Total timeout of all requests to the provider while one page is loaded, in milliseconds. */
const ANSWER_MS = 9_000;
/** How long a sign-out waits for the provider's metadata, in milliseconds. */
const SIGN_OUT_MS = 3_000;
/** How long the provider's metadata is cached, in milliseconds. Its keys are read at every sign-in. */
const KEPT_MS = 60_000;

/** Signs people in with the installation's OpenID Connect provider. */
export class ProviderClient {
  readonly #provider: Provider;
  readonly #redirectUri: string;
  readonly #signedOutUri: string;
  #known: { metadata: ServerMetadata; at: number } | null = null;

  constructor(provider: Provider, publicUrl: string) {
    this.#provider = provider;
    this.#redirectUri = publicUrl + CALLBACK_PATH;
    this.#signedOutUri = publicUrl + SIGN_IN_PATH;
  }

  /** Returns the provider's URL at which the person signs in. Throws SignInFailure. */
  async signInUrl({ state, nonce, verifier }: Bindings): Promise<URL> {
    const client = await load();
    const configuration = await this.#configuration(AbortSignal.timeout(ANSWER_MS));
    return client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.#provider.scopes,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
  }

  /** Redeems the authorization code in the query of a callback, and returns the person. Throws SignInFailure. */
  async person(query: string, { state, nonce, verifier }: Bindings): Promise<ProviderPerson> {
    const client = await load();
    const configuration = await this.#configuration(AbortSignal.timeout(ANSWER_MS));
    try {
      const answer = new URL(this.#redirectUri + query);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await client.authorizationCodeGrant(configuration, answer, checks);
      const claims = tokens.claims();
      if (!claims || tokens.id_token === undefined) throw new SignInFailure('answer_invalid', 'there is no ID token');
      // Many providers return the e-mail address and groups only from the userinfo endpoint.
      const more =
        configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...personOf({ ...more, ...claims }), idToken: tokens.id_token };
    } catch (error) {
      throw failureOf(client, error);
    }
  }

  /**
   * Returns the URL of the provider's page for signing out; null if the provider has none or does not respond.
   * `idToken` is '' if the ID token of the sign-in was not stored.
   */
  async signOutUrl(idToken: string): Promise<string | null> {
    const client = await load();
    try {
      const configuration = await this.#configuration(AbortSignal.timeout(SIGN_OUT_MS));
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return client.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: this.#signedOutUri,
        ...(idToken === '' ? {} : { id_token_hint: idToken }),
      }).href;
    } catch (error) {
      if (error instanceof SignInFailure) return null;
      throw error;
    }
  }

  /** Returns a configuration without cached signing keys, so that a key that has just changed is accepted. */
  async #configuration(deadline: AbortSignal): Promise<Configuration> {
    const client = await load();
    const { issuer, clientId, clientSecret } = this.#provider;
    const limited: typeof fetch = (url, options) => {
      const signal = options?.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
      return fetch(url, { ...options, signal });
    };
    const insecure = issuer.startsWith('http:');
    const secret = clientSecret.reveal();
    if (this.#known === null || Date.now() - this.#known.at > KEPT_MS) {
      try {
        const found = await client.discovery(new URL(issuer), clientId, secret, undefined, {
          [client.customFetch]: limited,
          execute: insecure ? [client.allowInsecureRequests] : [],
        });
        this.#known = { metadata: found.serverMetadata(), at: Date.now() };
      } catch (error) {
        throw failureOf(client, error);
      }
    }
    const { metadata } = this.#known;
    const posts = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false;
    const authentication = posts ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
    const configuration = new client.Configuration(metadata, clientId, secret, authentication);
    configuration[client.customFetch] = limited;
    // Verifies the signature of the ID token, and does not rely only on the TLS connection.
    client.enableNonRepudiationChecks(configuration);
    if (insecure) client.allowInsecureRequests(configuration);
    return configuration;
  }
}

type Library = typeof import('openid-client');

/** Loads the library on first use, because most processes never need it. */
function load(): Promise<Library> {
  return import('openid-client');
}

const MAX_SUBJECT_LENGTH = 255;

function personOf(claims: Record<string, unknown> & { iss: string; sub: string }): Omit<ProviderPerson, 'idToken'> {
  const { iss: issuer, sub: subject, email, email_verified: verified, amr } = claims;
  if (subject.length > MAX_SUBJECT_LENGTH || subject.includes('\0'))
    throw new SignInFailure('answer_invalid', 'the subject is not usable');
  return {
    issuer,
    subject,
    // Some providers send `email_verified` as a string.
    verifiedEmail: typeof email === 'string' && (verified === true || verified === 'true') ? email : null,
    secondFactor: Array.isArray(amr) && amr.includes('mfa'),
    claims,
  };
}

/**
 * Error codes of the token endpoint for an authorization code that is not valid or has expired. Any code that is not
 * in this set means that the provider refuses this installation.
 */
const OF_THE_CODE = new Set(['invalid_grant']);

function failureOf(client: Library, error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error;
  const message = describe(error).slice(0, MAX_MESSAGE_LENGTH);
  if (error instanceof client.AuthorizationResponseError)
    return new SignInFailure(error.error === 'access_denied' ? 'denied' : 'provider_refused', message);
  if (error instanceof client.ResponseBodyError)
    return new SignInFailure(OF_THE_CODE.has(error.error) ? 'expired' : 'provider_refused', message);
  const { code } = error as { code?: string };
  const silent = error instanceof TypeError || (code !== undefined && UNREACHABLE.has(code));
  return new SignInFailure(silent || isAborted(error) ? 'provider_unavailable' : 'answer_invalid', message);
}

/** Error codes of openid-client for a missing or malformed response. */
const UNREACHABLE = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]);

function isAborted(error: unknown): boolean {
  return error instanceof DOMException;
}

/** Maximum length of a message. Its text comes from the provider or from the callback's query. */
const MAX_MESSAGE_LENGTH = 300;

/** Describes an error with its causes. The library's messages contain no secret and no token. */
function describe(error: unknown): string {
  const texts: string[] = [];
  const answer = error as { error?: unknown; error_description?: unknown };
  for (const text of [answer.error, answer.error_description]) if (typeof text === 'string') texts.push(text);
  for (let at = error; at instanceof Error && texts.length < 6; at = at.cause) texts.push(at.message);
  return texts.join(': ');
}
