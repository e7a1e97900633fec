import { expect } from 'chai';
import { Sensitive } from '../../shared/core/sensitive.js';
import { addMember, removeMember } from '../../shared/identity/commands.js';
import { findUserByEmail, setPasswordHash } from '../../shared/identity/store.js';
import { hashPassword } from '../../shared/secrets/password.js';
import { expectError, newService, startTestApi, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';
import { startSmtp, type TestSmtp } from '../support/smtp.js';

const PASSWORD = 'correct horse battery staple';
const V1 = '/api/v1';

describe('Browser sessions', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let services: string;
  let people = 0;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    services = `${V1}${workspace.path}/services`;
  });

  async function person(options: { verified?: boolean; role?: 'viewer' | 'developer' | 'admin' } = {}) {
    const email = `person-${++people}@example.com`;
    const { verified = true, role = 'developer' } = options;
    const user = await makeUser(api.db, { email, password: PASSWORD, verified });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email, role }));
    return { id: user.id, email };
  }

  async function signedIn(options?: Parameters<typeof person>[0]) {
    const who = await person(options);
    const browser = new Browser(api.url);
    await browser.signIn(who.email, PASSWORD);
    return { ...who, browser };
  }

  const body = () => ({ name: `service of a session ${++people}`, kind: 'web' });

  describe('/api/bootstrap', () => {
    it('without a session answers 200 with no user and a token', async () => {
      const answer = await new Browser(api.url).get('/api/bootstrap');
      expect(answer.status).to.equal(200);
      expect(answer.body.user).to.equal(null);
      expect(answer.body.workspaces).to.deep.equal([]);
      expect(answer.body.csrfToken).to.match(/^[\w-]{43}$/);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
    });

    it('with a session shows the user, and the workspaces with the role in each', async () => {
      const { browser, email, id } = await signedIn({ role: 'admin' });
      const { user, workspaces } = await browser.bootstrap();
      expect(user).to.deep.equal({
        ...{ id, email, emailVerified: true, hasPassword: true },
        ...{ mfaEnabled: false, mfaVerified: false },
      });
      expect(workspaces.map(({ id, role }: { id: string; role: string }) => [id, role])).to.deep.equal([
        [workspace.id, 'admin'],
      ]);
    });

    it('keeps its token while the cookies are retained', async () => {
      const visitor = new Browser(api.url);
      const { csrfToken } = await visitor.bootstrap();
      expect((await visitor.bootstrap()).csrfToken).to.equal(csrfToken);
      expect((await new Browser(api.url).bootstrap()).csrfToken).to.not.equal(csrfToken);
    });
  });

  describe('signing in', () => {
    it('sets a cookie that scripts cannot read and other sites do not send, and stores it as a hash only', async () => {
      const { email } = await person();
      const browser = new Browser(api.url);
      const answer = await browser.post('/api/session', { email: ` ${email.toUpperCase()} `, password: PASSWORD });
      expect(answer.status).to.equal(200);
      expect(answer.body.user.email).to.equal(email);
      const cookie = answer.headers.getSetCookie().find((header) => header.startsWith('ranvier_session=')) ?? '';
      expect(cookie)
        .to.match(/; path=\//i)
        .and.match(/; samesite=lax/i)
        .and.match(/; httponly/i);
      expect(cookie).to.not.match(/secure/i);
      const token = browser.cookies.get('ranvier_session') ?? '';
      expect(Buffer.from(token, 'base64url')).to.have.length(32);
      const rows = await api.db('sessions').select('*');
      expect(JSON.stringify(rows)).to.not.contain(token);
      expect(JSON.stringify(answer.body)).to.not.contain(token);
    });

    it('rotates: the session that the browser had before ends', async () => {
      const { browser, email } = await signedIn();
      const before = browser.cookies.get('ranvier_session') ?? '';
      await browser.signIn(email, PASSWORD);
      expect(browser.cookies.get('ranvier_session')).to.not.equal(before);
      const old = new Browser(api.url);
      old.cookies.set('ranvier_session', before);
      expect((await old.bootstrap()).user).to.equal(null);
    });

    it('does not take over a cookie that was planted', async () => {
      const { email } = await person();
      const browser = new Browser(api.url);
      const planted = Buffer.alloc(32, 9).toString('base64url');
      browser.cookies.set('ranvier_session', planted);
      await browser.signIn(email, PASSWORD);
      expect(browser.cookies.get('ranvier_session')).to.not.equal(planted);
    });

    it('answers an unknown address and a wrong password the same', async () => {
      const { email } = await person();
      const answers = [
        await new Browser(api.url).post('/api/session', { email, password: 'wrong' }),
        await new Browser(api.url).post('/api/session', { email: 'nobody@example.com', password: 'wrong' }),
      ];
      for (const answer of answers) expectError(answer, 401, 'unauthenticated');
      const [first, second] = answers.map(({ body }) => body.error);
      expect(first).to.deep.equal(second);
    });

    it('is not for another site’s page', async () => {
      const { email } = await person();
      const browser = new Browser(api.url);
      for (const site of ['cross-site', 'same-site']) {
        const answer = await browser.post('/api/session', { email, password: PASSWORD }, { 'Sec-Fetch-Site': site });
        expectError(answer, 403, 'csrf_failed');
      }
      const form = { 'Content-Type': 'text/plain' };
      expectError(await browser.post('/api/session', { email, password: PASSWORD }, form), 400, 'invalid_request');
      const wrong = await browser.post('/api/session', { email, password: PASSWORD }, { 'X-CSRFToken': 'x' });
      expectError(wrong, 403, 'csrf_failed');
      const { csrfToken } = await browser.bootstrap();
      const right = await browser.post('/api/session', { email, password: PASSWORD }, { 'X-CSRFToken': csrfToken });
      expect(right.status).to.equal(200);
    });

    it('is slowed per account: 429 with Retry-After, for the right password too', async () => {
      const { email } = await person();
      const statuses: number[] = [];
      for (let i = 0; i < 11; i++) {
        statuses.push((await new Browser(api.url).post('/api/session', { email, password: 'wrong' })).status);
      }
      expect(statuses).to.deep.equal([...Array(10).fill(401), 429]);
      const refused = await new Browser(api.url).post('/api/session', { email, password: PASSWORD });
      expectError(refused, 429, 'rate_limited');
      expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    });
  });

  it('is limited per address for all accounts together; successful sign-ins do not count', async () => {
    const fresh = await startTestApi();
    try {
      await makeUser(fresh.db, { email: 'often@example.com', password: PASSWORD, verified: true });
      const guess = (email: string) => new Browser(fresh.url).post('/api/session', { email, password: 'x' });
      const counted = () => fresh.db('rate_limits').where('key', 'like', 'guess-client:%');
      for (let i = 0; i < 3; i++) await new Browser(fresh.url).signIn('often@example.com', PASSWORD);
      expect((await counted().first()).points).to.equal(0);
      await guess('guess-1@example.com');
      expect((await counted().first()).points).to.equal(1);
      await counted().update({ points: 49 });
      expectError(await guess('guess-2@example.com'), 401, 'unauthenticated');
      const refused = await guess('guess-3@example.com');
      expectError(refused, 429, 'rate_limited');
      expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    } finally {
      await fresh.close();
    }
  });

  describe('writes', () => {
    it('need X-CSRFToken with the csrfToken of /api/bootstrap; reads do not', async () => {
      const { browser } = await signedIn();
      expect((await browser.get(services)).status).to.equal(200);
      const other = await signedIn();
      const anonymous = await new Browser(api.url).bootstrap();
      for (const token of [null, 'x', `${browser.csrfToken}x`, other.browser.csrfToken, anonymous.csrfToken]) {
        expectError(await browser.post(services, body(), { 'X-CSRFToken': token }), 403, 'csrf_failed');
      }
      expect((await browser.post(services, body())).status).to.equal(201);
    });

    it('need the cookies of the response that the token came with', async () => {
      const { browser } = await signedIn();
      const bare = new Browser(api.url);
      bare.csrfToken = browser.csrfToken;
      expectError(await bare.post(services, body()), 401, 'unauthenticated');
    });

    it('need no token with a valid key, and a wrong key is 401 even with a session', async () => {
      const { browser } = await signedIn();
      browser.csrfToken = '';
      const key = { Authorization: `Bearer ${workspace.owner.key}` };
      expect((await browser.post(services, body(), key)).status).to.equal(201);
      const wrong = { Authorization: 'Bearer rnv_wrong' };
      expectError(await browser.post(services, body(), wrong), 401, 'unauthenticated');
    });

    it('a token of before signing in is void', async () => {
      const { email } = await person();
      const browser = new Browser(api.url);
      const { csrfToken } = await browser.bootstrap();
      await browser.post('/api/session', { email, password: PASSWORD });
      browser.csrfToken = csrfToken;
      expectError(await browser.post(services, body()), 403, 'csrf_failed');
    });

    it('of an unverified e-mail address are 403', async () => {
      const { browser } = await signedIn({ verified: false });
      expect((await browser.get(services)).status).to.equal(200);
      expectError(await browser.post(services, body()), 403, 'email_unverified');
    });

    it('have the role of the membership', async () => {
      const { browser } = await signedIn({ role: 'viewer' });
      expectError(await browser.post(services, body()), 403, 'forbidden');
    });

    it('may consent to payment, which a key may not', async () => {
      const { browser } = await signedIn({ role: 'admin' });
      const consents = [{ budget: 50 }, { budget: 51 }, { currency: 'NGN' }, { budget: 0 }, { allowOverages: true }];
      for (const configuration of consents) {
        expectError(await workspace.owner.client.patch(workspace.path, { configuration }), 403, 'forbidden');
        const { body: answer } = await browser.send('PATCH', V1 + workspace.path, { configuration });
        expect(answer.workspace.configuration).to.include(configuration);
      }
    });

    it('honour Idempotency-Key, a receipt being of one session', async () => {
      const { browser, email } = await signedIn();
      const payload = body();
      const headers = { 'Idempotency-Key': 'once' };
      const first = await browser.post(services, payload, headers);
      const again = await browser.post(services, payload, headers);
      expect(again.body).to.deep.equal(first.body);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      const second = new Browser(api.url);
      await second.signIn(email, PASSWORD);
      const elsewhere = await second.post(services, payload, headers);
      expect(elsewhere.headers.get('idempotency-replayed')).to.equal('false');
    });
  });

  it('acts in every workspace of its user, and finds out about no other', async () => {
    const { browser, email } = await signedIn();
    const second = await api.workspace();
    const path = `${V1}${second.path}`;
    expectError(await browser.get(path), 404, 'not_found');
    expectError(await browser.post(`${path}/services`, body()), 404, 'not_found');
    await api.db.transaction((trx) => addMember(trx, { workspaceId: second.id, email, role: 'developer' }));
    expect((await browser.get(path)).body.workspace.role).to.equal('developer');
    expect((await browser.post(`${path}/services`, body())).status).to.equal(201);
    await api.db.transaction((trx) => removeMember(trx, { workspaceId: second.id, email }));
    expectError(await browser.get(path), 404, 'not_found');
  });

  it('cursors belong to the user: the next session continues with them, no other user does', async () => {
    for (let i = 0; i < 2; i++) await newService(workspace.owner.client, workspace.path);
    const { browser, email } = await signedIn();
    const { body: page } = await browser.get(`${services}?limit=1`);
    const next = `${services}?cursor=${page.page.nextCursor}`;
    const later = new Browser(api.url);
    await later.signIn(email, PASSWORD);
    expect((await later.get(next)).status).to.equal(200);
    expectError(await (await signedIn()).browser.get(next), 400, 'invalid_cursor');
  });

  describe('ends', () => {
    it('at sign-out, for everyone who has its cookie', async () => {
      const { browser } = await signedIn();
      const copy = new Browser(api.url);
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
      expectError(await browser.send('DELETE', '/api/session', {}, { 'X-CSRFToken': null }), 403, 'csrf_failed');
      expect((await browser.delete('/api/session')).body).to.deep.equal({ signedOut: true, providerUrl: null });
      expect([...browser.cookies.keys()]).to.deep.equal([]);
      expectError(await copy.get(services), 401, 'unauthenticated');
      expectError(await browser.delete('/api/session'), 401, 'unauthenticated');
    });

    for (const [why, column] of [
      ['when it was idle for too long', 'seen_at'],
      ['at its absolute expiry, however much it is used', 'expires_at'],
    ] as const) {
      it(why, async () => {
        const { browser, id } = await signedIn();
        const past = column === 'seen_at' ? `now() - interval '13 hours'` : 'now()';
        await api.db('sessions').where({ user_id: id }).update(column, api.db.raw(past));
        expectError(await browser.get(services), 401, 'unauthenticated');
        expect((await browser.bootstrap()).user).to.equal(null);
      });
    }

    it('not while it is used', async () => {
      const { browser, id } = await signedIn();
      await api.db('sessions').where({ user_id: id }).update('seen_at', api.db.raw(`now() - interval '11 hours'`));
      expect((await browser.get(services)).status).to.equal(200);
      const { seen_at } = await api.db('sessions').where({ user_id: id }).first();
      expect(Date.now() - seen_at.getTime()).to.be.lessThan(60_000);
    });

    it('with a new password', async () => {
      const { browser, email } = await signedIn();
      const user = await findUserByEmail(api.db, email);
      await setPasswordHash(api.db, user?.id ?? '', await hashPassword('another password'));
      expectError(await browser.get(services), 401, 'unauthenticated');
    });
  });

  it('behind TLS the cookie is Secure and only ours; X-Forwarded-Proto counts if the proxy is trusted', async () => {
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9' };
    const { email } = await person();
    const untrusted = new Browser(api.url, headers);
    await untrusted.signIn(email, PASSWORD);
    expect([...untrusted.cookies.keys()]).to.deep.equal(['ranvier_session']);

    const behind = await startTestApi({ trustProxy: true });
    try {
      await makeUser(behind.db, { email: 'tls@example.com', password: PASSWORD, verified: true });
      const browser = new Browser(behind.url, headers);
      const answer = await browser.post('/api/session', { email: 'tls@example.com', password: PASSWORD });
      const cookie = answer.headers.getSetCookie().find((header) => header.includes('ranvier_session=')) ?? '';
      expect(cookie)
        .to.match(/^__Host-ranvier_session=/)
        .and.match(/; secure/i)
        .and.match(/; path=\//i);
      expect(cookie).to.not.match(/domain=/i);
      expect((await browser.bootstrap()).user.email).to.equal('tls@example.com');
    } finally {
      await behind.close();
    }
  });

  describe('verification of the e-mail address', () => {
    let smtp: TestSmtp;
    let mailing: TestApi;

    before(async () => {
      smtp = await startSmtp();
      mailing = await startTestApi({
        mail: { smtpUrl: new Sensitive(smtp.url), from: 'ranvier@example.com' },
        publicUrl: 'https://paas.example',
      });
    });
    after(async () => {
      await mailing.close();
      await smtp.close();
    });

    async function unverified(email: string) {
      await makeUser(mailing.db, { email, password: PASSWORD, verified: false });
      const browser = new Browser(mailing.url);
      await browser.signIn(email, PASSWORD);
      return browser;
    }

    const tokenOf = (text = '') => /^https:\/\/paas\.example\/api\/verify#([\w-]{43})$/m.exec(text)?.[1] ?? '';

    it('mails a link, whose token verifies the address once', async () => {
      const browser = await unverified('new@example.com');
      expect((await browser.post('/api/session/verification')).body).to.deep.equal({ sent: true, reason: '' });
      const mail = smtp.mails.at(-1);
      expect(mail?.to).to.deep.equal(['new@example.com']);
      const token = tokenOf(mail?.text);
      const confirm = '/api/session/verification/confirm';
      expectError(await new Browser(mailing.url).post(confirm, { token: `${token}x` }), 400, 'invalid_request');
      expect((await new Browser(mailing.url).post(confirm, { token })).body).to.deep.equal({ emailVerified: true });
      expect((await browser.bootstrap()).user.emailVerified).to.equal(true);
      expectError(await new Browser(mailing.url).post(confirm, { token }), 400, 'invalid_request');
      expect((await browser.post('/api/session/verification')).body.sent).to.equal(false);
    });

    it('the link leads to a page whose button verifies the address; to open it does nothing', async () => {
      const browser = await unverified('clicks@example.com');
      await browser.post('/api/session/verification');
      const page = await fetch(`${mailing.url}/api/verify`);
      expect(page.headers.get('content-type')).to.match(/^text\/html/);
      expect(page.headers.get('content-security-policy'))
        .to.contain("default-src 'none'")
        .and.contain("script-src 'self'");
      const html = await page.text();
      const [, path = ''] = /<script src="([^"]+)">/.exec(html) ?? [];
      const script = await (await fetch(mailing.url + path)).text();
      const elements: Record<string, { textContent: string; onclick?: () => Promise<void> }> = {};
      for (const [, id = ''] of html.matchAll(/id="(\w+)"/g)) elements[id] = { textContent: '' };
      const fetched = async (path: string, { method = 'GET', headers = {}, body = '' } = {}) => {
        const answer = await browser.send(method, path, body === '' ? undefined : JSON.parse(body), headers);
        return { json: async () => answer.body };
      };
      const press = async (token: string) => {
        const run = new Function('document', 'location', 'fetch', script);
        run({ getElementById: (id: string) => elements[id] }, { hash: `#${token}` }, fetched);
        expect((await browser.bootstrap()).user.emailVerified).to.equal(false);
        await elements.verify?.onclick?.();
        return elements.answer?.textContent;
      };
      expect(await press('wrong')).to.contain('expired');
      expect(await press(tokenOf(smtp.mails.at(-1)?.text))).to.equal('The address is verified.');
      expect((await browser.bootstrap()).user.emailVerified).to.equal(true);
    });

    it('a token is good for a day, and only the latest', async () => {
      const browser = await unverified('slow@example.com');
      const tokens: string[] = [];
      for (let i = 0; i < 2; i++) {
        await browser.post('/api/session/verification');
        tokens.push(tokenOf(smtp.mails.at(-1)?.text));
      }
      await mailing
        .db('users')
        .where({ email: 'slow@example.com' })
        .update('verification_expires_at', mailing.db.raw('now()'));
      for (const token of tokens) {
        const answer = await browser.post('/api/session/verification/confirm', { token });
        expectError(answer, 400, 'invalid_request');
      }
    });

    it('mails no more than a few times an hour', async () => {
      const browser = await unverified('eager@example.com');
      const statuses: number[] = [];
      for (let i = 0; i < 6; i++) statuses.push((await browser.post('/api/session/verification')).status);
      expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 429]);
    });

    it('without a mail server says so', async () => {
      const { browser } = await signedIn({ verified: false });
      const { status, body: answer } = await browser.post('/api/session/verification');
      expect(status).to.equal(200);
      expect(answer.sent).to.equal(false);
      expect(answer.reason).to.contain('no e-mail');
    });
  });

  describe('of one user', () => {
    it('are listed with the client that began them, and ended one by one or all others', async () => {
      const { email, browser } = await signedIn();
      const phone = new Browser(api.url, { 'User-Agent': 'a phone' });
      const tablet = new Browser(api.url, { 'User-Agent': 'a tablet' });
      for (const other of [phone, tablet]) await other.signIn(email, PASSWORD);
      const list = async () => (await browser.get('/api/sessions')).body.sessions;
      const sessions = await list();
      expect(sessions).to.have.length(3);
      expect(sessions.filter(({ current }: { current: boolean }) => current)).to.have.length(1);
      const onPhone = sessions.find(({ userAgent }: { userAgent: string }) => userAgent === 'a phone');
      expect(onPhone.origin).to.match(/local user \d+/);

      expect((await browser.send('DELETE', `/api/sessions/${onPhone.id}`)).status).to.equal(200);
      expectError(await phone.get('/api/sessions'), 401, 'unauthenticated');
      expectError(await browser.send('DELETE', `/api/sessions/${onPhone.id}`), 404, 'not_found');
      const stranger = await signedIn();
      const [theirs] = (await stranger.browser.get('/api/sessions')).body.sessions;
      expectError(await browser.send('DELETE', `/api/sessions/${theirs.id}`), 404, 'not_found');

      expect((await browser.send('DELETE', '/api/sessions')).status).to.equal(200);
      expectError(await tablet.get('/api/sessions'), 401, 'unauthenticated');
      expect(await list()).to.have.length(1);
      expect((await stranger.browser.get('/api/sessions')).status).to.equal(200);
    });
  });
});
