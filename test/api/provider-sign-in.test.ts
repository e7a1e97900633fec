import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { addMember, removeMember } from '../../shared/identity/commands.js';
import { findUserByEmail, insertUser, upsertMembership } from '../../shared/identity/store.js';
import { runAdmin } from '../support/admin.js';
import { expectError, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';
import { oidcOf, type Person, startProvider, type TestProvider } from '../support/oidc.js';
import { makePasskey } from '../support/passkeys.js';

const PASSWORD = 'correct horse battery staple';
const PUBLIC_URL = 'http://localhost:3000';
const START = '/api/session/oidc';

describe('Sign-in with a provider of OpenID Connect', () => {
  let provider: TestProvider;
  let api: TestApi;
  let workspace: TestWorkspace;
  let people = 0;

  before(async () => {
    provider = await startProvider(PUBLIC_URL);
    api = await startTestApi({ oidc: provider.oidc, publicUrl: PUBLIC_URL });
    workspace = await api.workspace();
    await settings({ allowedDomains: ['example.com'] });
  });
  after(async () => {
    await api?.close();
    await provider?.close();
  });
  afterEach(() => {
    provider.doctor = null;
    provider.forge = false;
    provider.discovery = null;
  });

  const path = () => `/api/v1${workspace.path}`;

  async function settings(changes: Record<string, unknown>) {
    const given = { allowedDomains: ['example.com'], role: 'viewer', passwords: true, ...changes };
    const answer = await (await ownerByLink()).send('PUT', `${path()}/sign-in`, given);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return answer.body.signIn;
  }

  async function ownerByLink(): Promise<Browser> {
    const { createSignInLink } = await import('../../shared/identity/sign-in.js');
    const browser = new Browser(api.url);
    const token = await createSignInLink(api.db, workspace.owner.email);
    expect((await browser.post('/api/session/link', { token })).status).to.equal(200);
    await browser.bootstrap();
    return browser;
  }

  function newPerson(fields: Partial<Person> = {}): Person {
    const name = `somebody-${++people}`;
    return { sub: name, email: `${name}@example.com`, email_verified: true, ...fields };
  }

  /** Goes to the provider and back. Returns the callback, which the browser has not opened yet. */
  async function callbackOf(browser: Browser, person: Person | null, start = START): Promise<string> {
    provider.person = person;
    const { status, location } = await browser.navigate(start);
    expect(status).to.equal(303);
    return provider.visit(location);
  }

  async function signIn(person: Person | null, browser = new Browser(api.url), start = START) {
    const { status, location } = await browser.navigate(await callbackOf(browser, person, start));
    expect(status).to.equal(303);
    return { browser, location };
  }

  async function expectFailure(person: Person | null, code: string, browser = new Browser(api.url)) {
    expect((await signIn(person, browser)).location).to.equal(`/sign-in?error=${code}`);
    expect((await browser.bootstrap()).user).to.equal(null);
  }

  const roleOf = async (email: string) => {
    const { body } = await workspace.owner.client.get(`${workspace.path}/members`);
    return body.members.find((member: { email: string }) => member.email === email)?.role ?? null;
  };

  describe('a person', () => {
    it('is sent to the provider with PKCE, and comes back to the page they left', async () => {
      const browser = new Browser(api.url);
      const { provider: shown } = await browser.bootstrap();
      expect(shown).to.deep.equal({ name: 'Acme', url: `${PUBLIC_URL}${START}` });
      const { location } = await browser.navigate(START);
      const sent = new URL(location).searchParams;
      expect(sent.get('code_challenge_method')).to.equal('S256');
      for (const name of ['state', 'nonce', 'code_challenge']) expect(sent.get(name), name).to.have.length.above(42);
      expect(sent.get('redirect_uri')).to.equal(`${PUBLIC_URL}${START}/callback`);
      const returned = await signIn(newPerson(), browser, `${START}?returnTo=%2Fw%2F1%3Ftab%3D2`);
      expect(returned.location).to.equal('/w/1?tab=2');
    });

    it('becomes a user without a password and a member, once, and the audit log says so', async () => {
      const person = newPerson();
      const { browser, location } = await signIn(person);
      expect(location).to.equal('/');
      const { user, workspaces } = await browser.bootstrap();
      expect(user).to.include({ email: person.email, emailVerified: true, mfaVerified: false });
      expect(workspaces.map(({ id, role }: { id: string; role: string }) => [id, role])).to.deep.equal([
        [workspace.id, 'viewer'],
      ]);
      expect((await browser.get(`${path()}/services`)).status).to.equal(200);
      const stored = await findUserByEmail(api.db, person.email);
      expect(stored?.password_hash).to.equal(null);
      const { body } = await workspace.owner.client.get(`${workspace.path}/audit`);
      const [entry] = body.entries;
      expect(entry).to.include({ operation: 'member.create', actor: person.email });
      expect(entry.credential.kind).to.equal('provider');
      const again = await signIn(person);
      expect((await again.browser.bootstrap()).user.id).to.equal(user.id);
    });

    it('is the user who has the same verified address, also if the address changes later', async () => {
      const person = newPerson({ email: 'Linked@Elsewhere.example' });
      const user = await makeUser(api.db, { email: 'linked@elsewhere.example', password: PASSWORD });
      const { browser } = await signIn(person);
      expect((await browser.bootstrap()).user.id).to.equal(user.id);
      const later = await signIn({ ...person, email: 'new@elsewhere.example', email_verified: false });
      expect((await later.browser.bootstrap()).user.id).to.equal(user.id);
      // A person who gets the address from the provider later does not become this user.
      await expectFailure({ ...person, sub: 'another' }, 'email_taken');
      expect(
        await runAdmin(String(api.config.databaseUrl?.reveal()), 'user', 'forget-provider', '--email', user.email),
      ).to.include({
        code: 0,
      });
      expect((await browser.bootstrap()).user).to.equal(null);
      const replaced = await signIn({ ...person, sub: 'another' });
      expect((await replaced.browser.bootstrap()).user.id).to.equal(user.id);
    });

    it('is not an account whose address nobody has verified', async () => {
      const person = newPerson();
      await makeUser(api.db, { email: person.email, password: PASSWORD, verified: false });
      await expectFailure(person, 'email_taken');
    });

    it('needs a verified address in a domain that a workspace allows, or an invitation', async () => {
      await expectFailure(newPerson({ email_verified: false }), 'email_unverified');
      const stranger = newPerson({ email: 'stranger@sub.example.com' });
      await expectFailure(stranger, 'not_admitted');
      expect(await findUserByEmail(api.db, stranger.email)).to.equal(null);
      await api.db('invitations').insert({
        id: '00000000-0000-4000-8000-000000000001',
        workspace_id: workspace.id,
        email: stranger.email,
        role: 'viewer',
        token_hash: Buffer.alloc(32, 1),
        invited_by: workspace.owner.email,
        expires_at: new Date(Date.now() + 60_000),
      });
      const { browser } = await signIn(stranger);
      const { body } = await browser.get('/api/session/invitations');
      expect(body.invitations).to.have.length(1);
      expect((await browser.bootstrap()).workspaces).to.deep.equal([]);
    });

    it('who was removed does not become a member again', async () => {
      const person = newPerson();
      await signIn(person);
      await api.db.transaction((trx) => removeMember(trx, { workspaceId: workspace.id, email: person.email }));
      const { browser } = await signIn(person);
      expect((await browser.bootstrap()).workspaces).to.deep.equal([]);
    });
  });

  describe('roles', () => {
    after(() => settings({}));

    it('follow the claim at each sign-in, for members that a sign-in has made', async () => {
      await settings({ roleClaim: 'groups', roles: { ops: 'admin', web: 'developer' } });
      const person = newPerson({ groups: ['web', 'ops', 'other'] });
      await signIn(person);
      expect(await roleOf(person.email)).to.equal('admin');
      await signIn({ ...person, groups: ['web'] });
      expect(await roleOf(person.email)).to.equal('developer');
      await signIn({ ...person, groups: [] });
      expect(await roleOf(person.email)).to.equal('viewer');
      const byHand = newPerson({ groups: ['ops'] });
      await insertUser(api.db, { email: byHand.email, passwordHash: null, verified: true });
      await api.db.transaction((trx) =>
        addMember(trx, { workspaceId: workspace.id, email: byHand.email, role: 'developer' }),
      );
      await signIn(byHand);
      expect(await roleOf(byHand.email)).to.equal('developer');
    });

    it('never lower an owner', async () => {
      await settings({ roleClaim: 'groups', roles: { ops: 'admin' } });
      const person = newPerson({ groups: ['ops'] });
      await signIn(person);
      const user = await findUserByEmail(api.db, person.email);
      await upsertMembership(api.db, { workspaceId: workspace.id, userId: user?.id ?? '', role: 'owner' });
      await signIn({ ...person, groups: [] });
      expect(await roleOf(person.email)).to.equal('owner');
    });

    it('of an owner are given by hand only, and domains have to be an owner’s', async () => {
      const owner = await ownerByLink();
      const given = { allowedDomains: ['example.com'], role: 'viewer', passwords: true };
      const put = (changes: object) => owner.send('PUT', `${path()}/sign-in`, { ...given, ...changes });
      expectError(await put({ role: 'owner' }), 400, 'invalid_request');
      expectError(await put({ roles: { boss: 'owner' } }), 400, 'invalid_request');
      const foreign = await put({ allowedDomains: ['example.com', 'victim.example'] });
      expectError(foreign, 400, 'invalid_request');
      expect(foreign.body.error.details[0].path).to.equal('/allowedDomains/1');
    });
  });

  describe('a callback', () => {
    it('works once', async () => {
      const browser = new Browser(api.url);
      const callback = await callbackOf(browser, newPerson());
      const kept = new Map(browser.cookies);
      expect((await browser.navigate(callback)).location).to.equal('/');
      expect((await browser.navigate(callback)).location).to.equal('/sign-in?error=expired');
      const copy = new Browser(api.url);
      for (const [name, value] of kept) copy.cookies.set(name, value);
      expect((await copy.navigate(callback)).location).to.equal('/sign-in?error=expired');
      expect((await copy.bootstrap()).user).to.equal(null);
    });

    it('of another browser is refused, so nobody is signed in as somebody else', async () => {
      const attacker = new Browser(api.url);
      const callback = await callbackOf(attacker, newPerson());
      const victim = new Browser(api.url);
      await victim.bootstrap();
      expect((await victim.navigate(callback)).location).to.equal('/sign-in?error=expired');
      expect((await victim.bootstrap()).user).to.equal(null);
      expect((await new Browser(api.url).navigate(callback)).location).to.equal('/sign-in?error=expired');
    });

    it('with junk in place of the state is refused', async () => {
      const browser = new Browser(api.url);
      await browser.bootstrap();
      for (const query of ['', '?state=', '?state=a.b', '?state=a&state=b', '?code=x', '?state=%00.%00']) {
        const { status, location } = await browser.navigate(`${START}/callback${query}`);
        expect([status, location], query).to.deep.equal([303, '/sign-in?error=expired']);
      }
    });

    it('tells that the person has cancelled', async () => {
      await expectFailure(null, 'denied');
    });

    const soon = () => Math.floor(Date.now() / 1000);
    const doctored: Record<string, TestProvider['doctor']> = {
      'another issuer': (claims) => ({ ...claims, iss: 'https://evil.example' }),
      'another audience': (claims) => ({ ...claims, aud: 'another-client' }),
      'another nonce': (claims) => ({ ...claims, nonce: 'n'.repeat(43) }),
      'no nonce': ({ nonce, ...claims }) => claims,
      'an end that has passed': (claims) => ({ ...claims, iat: soon() - 7200, exp: soon() - 3600 }),
      'another subject than the rest': (claims) => ({ ...claims, sub: 'somebody else' }),
    };
    for (const [name, doctor] of Object.entries(doctored)) {
      it(`with an ID token that has ${name} is refused`, async () => {
        provider.doctor = doctor;
        await expectFailure(newPerson(), 'answer_invalid');
      });
    }

    it('with an ID token of an unknown key is refused; of a new key it is not', async () => {
      provider.forge = true;
      await expectFailure(newPerson(), 'answer_invalid');
      provider.forge = false;
      const person = newPerson();
      await signIn(person);
      provider.rotate();
      expect((await signIn(person)).location).to.equal('/');
    });
  });

  describe('the start', () => {
    it('leads back to our own pages only', async () => {
      const places = [
        'https://evil.example',
        '//evil.example',
        '/\\evil.example',
        '/a b',
        '/api/session/oidc',
        'w',
        '/%0a',
      ];
      for (const place of places) {
        const { location } = await signIn(newPerson(), undefined, `${START}?returnTo=${encodeURIComponent(place)}`);
        expect(location, place).to.equal(place === '/%0a' ? place : '/');
      }
    });

    it('is not for pages of other sites', async () => {
      const { location } = await new Browser(api.url).navigate(START, { 'Sec-Fetch-Site': 'cross-site' });
      expect(location).to.equal('/sign-in');
    });
  });

  describe('a second factor', () => {
    it('of this installation is asked for, as with other links', async () => {
      const person = newPerson();
      await signIn(person);
      await api.db('users').where({ email: person.email }).update({ totp_confirmed_at: new Date() });
      const { browser, location } = await signIn(person);
      const [page, token = ''] = location.split('#');
      expect(page).to.equal('/sign-in');
      expectError(await browser.post('/api/session/link', { token }), 403, 'mfa_required');
      expect((await browser.bootstrap()).user).to.equal(null);
    });

    it('is enrolled without a password soon after the sign-in', async () => {
      const { browser } = await signIn(newPerson());
      const { user } = await browser.bootstrap();
      expect(user.hasPassword).to.equal(false);
      const parts = ['/api/session/mfa', '/api/session/passkeys/options'];
      for (const part of parts) expect((await browser.post(part, {})).status, part).to.equal(200);
      await api
        .db('sessions')
        .where({ user_id: user.id })
        .update({ created_at: new Date(Date.now() - 11 * 60_000) });
      for (const part of parts) expectError(await browser.post(part, {}), 400, 'invalid_request');
      const other = newPerson();
      await makeUser(api.db, { email: other.email, password: PASSWORD });
      const linked = (await signIn(other)).browser;
      await linked.bootstrap();
      expectError(await linked.post('/api/session/mfa', {}), 400, 'invalid_request');
    });

    it('of the provider counts if its token names it', async () => {
      const strict = await api.workspace();
      await strict.owner.client.patch(strict.path, { configuration: { requireMfa: true } });
      const person = newPerson();
      await signIn(person);
      await api.db.transaction((trx) =>
        addMember(trx, { workspaceId: strict.id, email: person.email, role: 'developer' }),
      );
      const write = async () => {
        const { browser } = await signIn(person);
        await browser.bootstrap();
        return browser.post(`/api/v1${strict.path}/services`, { name: `strict ${++people}`, kind: 'web' });
      };
      expectError(await write(), 403, 'mfa_required');
      provider.doctor = (claims) => ({ ...claims, amr: ['pwd', 'mfa'] });
      expect((await write()).status).to.equal(201);
      // A passkey is asked for then, unless the provider has asked for a second factor.
      const user = await findUserByEmail(api.db, person.email);
      await makePasskey(api.db, String(user?.id));
      expect((await signIn(person)).location).to.equal('/');
      provider.doctor = null;
      const { browser, location } = await signIn(person);
      const refused = await browser.post('/api/session/link', { token: location.split('#')[1] });
      expectError(refused, 403, 'mfa_required');
      expect(refused.body.error.details).to.deep.equal([{ path: '/passkey', message: 'is missing' }]);
    });
  });

  describe('signing out', () => {
    const signOut = async (browser: Browser): Promise<string | null> => {
      await browser.bootstrap();
      const { status, body } = await browser.delete('/api/session');
      expect([status, body.signedOut]).to.deep.equal([200, true]);
      expect((await browser.bootstrap()).user).to.equal(null);
      return body.providerUrl;
    };

    it('leads to the provider, which ends the session there and leads back', async () => {
      const person = newPerson();
      const { browser } = await signIn(person);
      const url = String(await signOut(browser));
      const { id_token_hint: hint, ...sent } = Object.fromEntries(new URL(url).searchParams);
      expect(sent).to.deep.equal({ client_id: 'ranvier', post_logout_redirect_uri: `${PUBLIC_URL}/sign-in` });
      const claims = JSON.parse(Buffer.from(String(hint?.split('.')[1]), 'base64url').toString());
      expect(claims.sub).to.equal(person.sub);
      expect(await provider.signOut(url)).to.equal(`${PUBLIC_URL}/sign-in`);
      expect(await provider.signOut(url).catch(String)).to.contain('the page does not ask: 200');
    });

    it('does so after a second factor of this installation too', async () => {
      const person = newPerson();
      await signIn(person);
      const user = api.db('users').where({ email: person.email });
      await user.clone().update({ totp_confirmed_at: new Date() });
      const { browser, location } = await signIn(person);
      await user.clone().update({ totp_confirmed_at: null });
      expect((await browser.post('/api/session/link', { token: location.split('#')[1] })).status).to.equal(200);
      expect(await signOut(browser)).to.contain('id_token_hint=');
    });

    it('names no one if the ID token is too long for an address', async () => {
      provider.doctor = (claims) => ({ ...claims, filling: 'x'.repeat(6_000) });
      const { browser } = await signIn(newPerson());
      expect(await signOut(browser))
        .to.contain('client_id=')
        .and.not.to.contain('id_token_hint');
    });

    it('stays here for a session that began without the provider', async () => {
      expect(await signOut(await ownerByLink())).to.equal(null);
    });

    for (const [name, discovery] of [
      ['has no page for it', ({ end_session_endpoint, ...rest }) => rest],
      ['answers nonsense', () => ({})],
    ] satisfies [string, TestProvider['discovery']][]) {
      it(`stays here if the provider ${name}, and nothing is left of the session`, async () => {
        const { browser } = await signIn(newPerson());
        const { user } = await browser.bootstrap();
        const { id } = await api.db('sessions').where({ user_id: user.id }).first('id');
        const rows = () => api.db('provider_sign_ins').where({ session_id: id });
        expect(await rows()).to.have.length(1);
        provider.discovery = discovery;
        expect(await signOut(browser)).to.equal(null);
        expect(await rows()).to.have.length(0);
      });
    }
  });

  describe('a workspace without passwords', () => {
    after(() => settings({}));

    it('is reached with the provider only, until the operator opens it', async () => {
      const person = newPerson();
      const user = await makeUser(api.db, { email: person.email, password: PASSWORD });
      await upsertMembership(api.db, { workspaceId: workspace.id, userId: user.id, role: 'admin' });
      const byPassword = new Browser(api.url);
      await byPassword.signIn(person.email, PASSWORD);
      const closed = { allowedDomains: ['example.com'], role: 'viewer', passwords: false };
      expectError(await byPassword.send('PUT', `${path()}/sign-in`, closed), 409, 'conflict');
      const { browser } = await signIn(person);
      await browser.bootstrap();
      expect((await browser.send('PUT', `${path()}/sign-in`, closed)).status).to.equal(200);

      const refused = await byPassword.get(`${path()}/services`);
      expectError(refused, 403, 'forbidden');
      expect(refused.body.error.message).to.contain('sign in with Acme');
      const { workspaces, closedWorkspaces } = await byPassword.bootstrap();
      expect(workspaces).to.deep.equal([]);
      expect(closedWorkspaces.map(({ id }: { id: string }) => id)).to.deep.equal([workspace.id]);
      expect((await byPassword.get('/api/v1/workspaces')).body.workspaces).to.deep.equal([]);
      expect((await browser.get(`${path()}/services`)).status).to.equal(200);
      expect((await workspace.owner.client.get(`${workspace.path}/services`)).status).to.equal(200);

      const { code } = await runAdmin(
        String(api.config.databaseUrl?.reveal()),
        ...['workspace', 'allow-passwords', '--workspace', workspace.id],
      );
      expect(code).to.equal(0);
      expect((await byPassword.get(`${path()}/services`)).status).to.equal(200);
    });
  });

  it('wrong callbacks count as wrong guesses of the client', async () => {
    const fresh = await startTestApi({ oidc: provider.oidc, publicUrl: PUBLIC_URL });
    try {
      const browser = new Browser(fresh.url);
      const ends: string[] = [];
      for (let i = 0; i < 51; i++) ends.push((await browser.navigate(`${START}/callback?state=a.b`)).location);
      expect(new Set(ends.slice(0, 50))).to.deep.equal(new Set(['/sign-in?error=expired']));
      expect(ends[50]).to.equal('/sign-in?error=rate_limited');
    } finally {
      await fresh.close();
    }
  });

  for (const [name, silent] of [
    ['is not there', false],
    ['does not answer', true],
  ] as const) {
    it(`if the provider ${name}, says so within ten seconds, and passwords work`, async () => {
      const held = createServer(() => undefined);
      await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
      const issuer = `http://127.0.0.1:${(held.address() as AddressInfo).port}`;
      if (!silent) await new Promise((resolve) => held.close(resolve));
      const fresh = await startTestApi({ oidc: oidcOf(issuer), publicUrl: PUBLIC_URL });
      try {
        const browser = new Browser(fresh.url);
        const before = performance.now();
        expect((await browser.navigate(START)).location).to.equal('/sign-in?error=provider_unavailable');
        expect(performance.now() - before).to.be.below(10_000);
        await makeUser(fresh.db, { email: 'somebody@example.com', password: PASSWORD });
        await browser.signIn('somebody@example.com', PASSWORD);
      } finally {
        await fresh.close();
        held.closeAllConnections();
        held.close();
      }
    });
  }

  it('over TLS uses cookies that other hosts cannot set', async () => {
    const publicUrl = 'https://ranvier.example.com';
    const other = await startProvider(publicUrl);
    const fresh = await startTestApi({ oidc: other.oidc, publicUrl });
    try {
      await makeUser(fresh.db, { email: 'somebody@example.com' });
      other.person = newPerson({ email: 'somebody@example.com' });
      const browser = new Browser(fresh.url);
      const callback = await other.visit((await browser.navigate(START)).location);
      expect([...browser.cookies.keys()]).to.deep.equal(['__Host-ranvier_visitor']);
      expect((await browser.navigate(callback)).location).to.equal('/');
      expect([...browser.cookies.keys()]).to.deep.equal(['__Host-ranvier_session']);
    } finally {
      await fresh.close();
      await other.close();
    }
  });

  it('without a provider, the paths do not exist', async () => {
    const fresh = await startTestApi();
    try {
      const browser = new Browser(fresh.url);
      expect((await browser.navigate(START)).status).to.equal(404);
      expect((await browser.bootstrap()).provider).to.equal(null);
    } finally {
      await fresh.close();
    }
  });
});
