import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import Provider, { type Configuration } from 'oidc-provider';
import type { Config } from '../../shared/core/config.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Browser } from './browser.js';
import { listen } from './http.js';

const CLIENT = { id: 'ranvier', secret: 'secret-of-the-client' };

export interface Person {
  sub: string;
  email: string;
  email_verified: boolean;
  groups?: string[];
}

type Claims = Record<string, unknown>;

/** A provider of OpenID Connect in this process. Its person agrees to every sign-in at once. */
export interface TestProvider {
  oidc: NonNullable<Config['oidc']>;
  /** The person who is asked to sign in; null for none. */
  person: Person | null;
  /** Changes the claims of ID tokens before they are signed; null for no change. */
  doctor: ((claims: Claims) => Claims) | null;
  /** Changes the provider's metadata; null for no change. */
  discovery: ((metadata: Claims) => Claims) | null;
  /** If true, ID tokens are signed with a key that the provider does not publish. */
  forge: boolean;
  rotate(): void;
  /** Follows the address of a sign-in to the callback. Returns the callback's path with its query. */
  visit(url: string): Promise<string>;
  /** Confirms the sign-out at its address, in the browser of the last visit. Returns where it leads. */
  signOut(url: string): Promise<string>;
  close(): Promise<void>;
}

/** Returns the settings of an installation that uses the provider with this issuer. */
export function oidcOf(issuer: string): NonNullable<Config['oidc']> {
  const { id: clientId, secret } = CLIENT;
  return { issuer, clientId, clientSecret: new Sensitive(secret), name: 'Acme', scopes: 'openid email profile' };
}

/** Starts a provider that knows the installation at this address. */
export async function startProvider(publicUrl: string): Promise<TestProvider> {
  let listener: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  let key = newKey();
  let browser = new Browser(issuer);

  const provider: TestProvider = {
    oidc: oidcOf(issuer),
    person: null,
    doctor: null,
    discovery: null,
    forge: false,
    rotate() {
      key = newKey();
      listener = serve();
    },
    visit(url) {
      browser = new Browser(issuer);
      return visit(browser, issuer, url, `${publicUrl}/`);
    },
    signOut: (url) => confirmSignOut(browser, url),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function serve(): RequestListener {
    const app = new Provider(
      issuer,
      configuration(publicUrl, key, () => provider.person),
    );
    app.use(async (ctx, next) => {
      const [, uid] = /^\/interaction\/(.+)$/.exec(ctx.path) ?? [];
      if (uid !== undefined) {
        const { person } = provider;
        const result = person ? { login: { accountId: person.sub } } : { error: 'access_denied' };
        await app.interactionFinished(ctx.req, ctx.res, result);
        ctx.respond = false;
        return;
      }
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (ctx.path.startsWith('/.well-known/') && provider.discovery) ctx.body = provider.discovery(ctx.body as Claims);
      if (ctx.path !== '/token' || body?.id_token === undefined) return;
      const { doctor, forge } = provider;
      if (doctor || forge) {
        const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
        body.id_token = signed(doctor ? doctor(claims) : claims, key.kid, forge ? newKey().key : key.key);
      }
    });
    return app.callback();
  }

  listener = serve();
  return provider;
}

interface SigningKey {
  kid: string;
  key: KeyObject;
}

function newKey(): SigningKey {
  return { kid: randomUUID(), key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey };
}

function signed(claims: Claims, kid: string, key: KeyObject): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part(claims)}`;
  return `${content}.${sign('RSA-SHA256', Buffer.from(content), key).toString('base64url')}`;
}

function configuration(publicUrl: string, { kid, key }: SigningKey, personOf: () => Person | null): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${publicUrl}/api/session/oidc/callback`],
        post_logout_redirect_uris: [`${publicUrl}/sign-in`],
      },
    ],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' } as never] },
    cookies: { keys: ['a key of the test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    pkce: { required: () => true },
    findAccount: (_, accountId) => {
      const person = personOf();
      return { accountId, claims: () => ({ ...person, sub: accountId }) };
    },
    async loadExistingGrant(ctx) {
      const { client, account } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: account?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  };
}

async function confirmSignOut({ cookies }: Browser, url: string): Promise<string> {
  const Cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const page = await fetch(url, { headers: { Cookie: Cookie() } });
  const text = await page.text();
  for (const [, name = '', value = ''] of page.headers.getSetCookie().map((c) => /^([^=]+)=([^;]*)/.exec(c) ?? []))
    cookies.set(name, value);
  const [, action, xsrf = ''] = /action="([^"]+)"><input type="hidden" name="xsrf" value="([^"]+)"/.exec(text) ?? [];
  if (action === undefined) throw new Error(`the page does not ask: ${page.status} ${text.slice(0, 400)}`);
  const body = new URLSearchParams({ xsrf, logout: 'yes' });
  const { headers } = await fetch(action, { method: 'POST', body, headers: { Cookie: Cookie() }, redirect: 'manual' });
  return headers.get('location') ?? '';
}

async function visit(browser: Browser, issuer: string, url: string, end: string): Promise<string> {
  let at = url;
  for (let hop = 0; hop < 10; hop++) {
    if (at.startsWith(end)) return at.slice(end.length - 1);
    if (!at.startsWith(issuer)) at = new URL(at, issuer).href;
    const { status, location } = await browser.navigate(at.slice(issuer.length));
    if (location === '') throw new Error(`${at} answered ${status} and leads nowhere`);
    at = location;
  }
  throw new Error(`${url} does not come back`);
}
