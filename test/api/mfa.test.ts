import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { addMember } from '../../shared/identity/commands.js';
import { runAdmin } from '../support/admin.js';
import { expectError, newKey, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';

const PASSWORD = 'correct horse battery staple';

describe('Second factor', () => {
  let api: TestApi;
  let strict: TestWorkspace;
  let services: string;
  let people = 0;

  useTestApi(async (given) => {
    ({ api } = given);
    strict = await api.workspace();
    services = `/api/v1${strict.path}/services`;
    await strict.owner.client.patch(strict.path, { configuration: { requireMfa: true } });
  });

  async function signedIn() {
    const email = `person-${++people}@example.com`;
    await makeUser(api.db, { email, password: PASSWORD, verified: true });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: strict.id, email, role: 'developer' }));
    const browser = new Browser(api.url);
    await browser.signIn(email, PASSWORD);
    return { email, browser };
  }

  /** Returns the code of a time step relative to now. The server also accepts the steps before and after. */
  function code(secret: string, steps = 0): string {
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });
  }

  async function enrolled() {
    const person = await signedIn();
    const { body } = await person.browser.post('/api/session/mfa', { password: PASSWORD });
    const confirmed = await person.browser.post('/api/session/mfa/confirm', { code: code(body.secret) });
    expect(confirmed.status, JSON.stringify(confirmed.body)).to.equal(200);
    person.browser.csrfToken = confirmed.body.csrfToken;
    return { ...person, secret: body.secret as string };
  }

  const body = () => ({ name: `service ${++people}`, kind: 'web' });

  it('enrolment gives a secret and the address that authenticators read; it counts once confirmed', async () => {
    const { browser, email } = await signedIn();
    const { body: enrolment } = await browser.post('/api/session/mfa', { password: PASSWORD });
    expect(enrolment.secret).to.match(/^[A-Z2-7]{32}$/);
    const uri = new URL(enrolment.otpauthUri);
    expect(uri.protocol).to.equal('otpauth:');
    expect(uri.searchParams.get('secret')).to.equal(enrolment.secret);
    expect(decodeURIComponent(uri.pathname)).to.contain(email);
    expect((await browser.bootstrap()).user).to.include({ mfaEnabled: false, mfaVerified: false });
    await new Browser(api.url).signIn(email, PASSWORD);

    const wrong = code(enrolment.secret, 20);
    expectError(await browser.post('/api/session/mfa/confirm', { code: wrong }), 400, 'invalid_request');
    const right = await browser.post('/api/session/mfa/confirm', { code: code(enrolment.secret) });
    expect(right.body.mfaEnabled).to.equal(true);
    expect((await browser.bootstrap()).user).to.include({ mfaEnabled: true, mfaVerified: true });
    expectError(await browser.post('/api/session/mfa', { password: PASSWORD }), 409, 'conflict');
  });

  it('the secret is stored sealed', async () => {
    const { email, secret } = await enrolled();
    const user = await api.db('users').where({ email }).first();
    expect(user.totp_sealed.toString('latin1')).to.not.contain(secret);
    expect(JSON.stringify(user)).to.not.contain(secret);
  });

  it('enrolling needs the csrfToken', async () => {
    const { browser } = await signedIn();
    expectError(await browser.post('/api/session/mfa', {}, { 'X-CSRFToken': null }), 403, 'csrf_failed');
    expectError(await new Browser(api.url).post('/api/session/mfa'), 401, 'unauthenticated');
  });

  it('enrolling needs the password, so that a stolen session is not enough, and wrong ones are counted', async () => {
    const { browser } = await signedIn();
    expectError(await browser.post('/api/session/mfa'), 400, 'invalid_request');
    for (let i = 0; i < 10; i++) {
      const wrong = await browser.post('/api/session/mfa', { password: `wrong ${i}` });
      expectError(wrong, 400, 'invalid_request');
      expect(wrong.body.error.details).to.deep.equal([
        { path: '/password', message: 'is not the password of this account' },
      ]);
    }
    expectError(await browser.post('/api/session/mfa', { password: PASSWORD }), 429, 'rate_limited');
    expectError(await browser.post('/api/session/mfa/confirm', { code: '000000' }), 409, 'conflict');
  });

  it('signing in needs the code then: without it 403 mfa_required, with a wrong one the answer of a wrong password', async () => {
    const { email, secret } = await enrolled();
    const browser = new Browser(api.url);
    const attempt = (fields: object) => browser.post('/api/session', { email, password: PASSWORD, ...fields });
    expectError(await attempt({}), 403, 'mfa_required');
    expectError(await attempt({ otp: code(secret, 20) }), 401, 'unauthenticated');
    expectError(await attempt({ password: 'wrong', otp: code(secret) }), 401, 'unauthenticated');
    expectError(await attempt({ password: 'wrong' }), 401, 'unauthenticated');
    expect((await attempt({ otp: code(secret, 1) })).status).to.equal(200);
    expect((await browser.bootstrap()).user).to.include({ mfaEnabled: true, mfaVerified: true });
  });

  it('a code is good once, also for two that come at the same time, and none before it', async () => {
    const { email, secret } = await enrolled();
    const otp = code(secret, 1);
    const attempt = (given: string) =>
      new Browser(api.url).post('/api/session', { email, password: PASSWORD, otp: given });
    const statuses = (await Promise.all([attempt(otp), attempt(otp)])).map(({ status }) => status);
    expect(statuses.sort()).to.deep.equal([200, 401]);
    expectError(await attempt(otp), 401, 'unauthenticated');
    expectError(await attempt(code(secret)), 401, 'unauthenticated');
  });

  it('confirming rotates the session and ends the others', async () => {
    const { browser, email } = await signedIn();
    const other = new Browser(api.url);
    await other.signIn(email, PASSWORD);
    const before = browser.cookies.get('ranvier_session') ?? '';
    const { body: enrolment } = await browser.post('/api/session/mfa', { password: PASSWORD });
    await browser.post('/api/session/mfa/confirm', { code: code(enrolment.secret) });
    expect(browser.cookies.get('ranvier_session')).to.not.equal(before);
    expectError(await other.get(services), 401, 'unauthenticated');
    const old = new Browser(api.url);
    old.cookies.set('ranvier_session', before);
    expectError(await old.get(services), 401, 'unauthenticated');
    expect((await browser.get(services)).status).to.equal(200);
  });

  it('is removed with a code', async () => {
    const { browser, email, secret } = await enrolled();
    expectError(await browser.delete('/api/session/mfa', { code: code(secret, 20) }), 400, 'invalid_request');
    expect((await browser.delete('/api/session/mfa', { code: code(secret, 1) })).body.mfaEnabled).to.equal(false);
    expect((await browser.bootstrap()).user).to.include({ mfaEnabled: false, mfaVerified: false });
    expectError(await browser.delete('/api/session/mfa', { code: code(secret, 1) }), 409, 'conflict');
    await new Browser(api.url).signIn(email, PASSWORD);
  });

  it('guessing codes is slowed', async () => {
    const { browser, secret } = await enrolled();
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++) {
      statuses.push((await browser.delete('/api/session/mfa', { code: code(secret, 50 + i) })).status);
    }
    expect(statuses).to.deep.equal([...Array(10).fill(400), 429]);
  });

  it('is reset by an operator: sessions end, the password alone signs in and reads, keys only read until it is enrolled anew', async () => {
    const { browser, email } = await enrolled();
    const { key } = await newKey(api.db, strict.id, email, 'write');
    const client = api.client(`Bearer ${key}`);
    expect((await client.post(`${strict.path}/services`, body())).status).to.equal(201);
    const {
      code: exit,
      stdout,
      stderr,
    } = await runAdmin(api.config.databaseUrl.reveal(), 'user', 'reset-mfa', '--email', email);
    expect(exit, stderr).to.equal(0);
    expect(stdout).to.contain(email);

    expectError(await browser.get(services), 401, 'unauthenticated');
    expect((await client.get(`${strict.path}/services`)).status).to.equal(200);
    expectError(await client.post(`${strict.path}/services`, body()), 403, 'mfa_required');
    const again = new Browser(api.url);
    await again.signIn(email, PASSWORD);
    expect((await again.get(services)).status).to.equal(200);
    expectError(await again.post(services, body()), 403, 'mfa_required');
    const { body: enrolment } = await again.post('/api/session/mfa', { password: PASSWORD });
    const confirmed = await again.post('/api/session/mfa/confirm', { code: code(enrolment.secret) });
    expect(confirmed.status).to.equal(200);
    expect((await client.post(`${strict.path}/services`, body())).status).to.equal(201);
    const none = await runAdmin(api.config.databaseUrl.reveal(), 'user', 'reset-mfa', '--email', strict.owner.email);
    expect(none.stderr).to.contain('no second factor (conflict)');
  });

  describe('in a workspace that requires MFA', () => {
    it('a session without a second factor reads, and its writes are 403 mfa_required', async () => {
      const { browser } = await signedIn();
      expect((await browser.get(services)).status).to.equal(200);
      expectError(await browser.post(services, body()), 403, 'mfa_required');
    });

    it('a session that proved it writes', async () => {
      const { browser } = await enrolled();
      expect((await browser.post(services, body())).status).to.equal(201);
    });

    it('a key writes once its owner has a confirmed factor, and no longer when it is removed', async () => {
      const { browser, email } = await signedIn();
      const { key } = await newKey(api.db, strict.id, email, 'write');
      const client = api.client(`Bearer ${key}`);
      expectError(await client.post(`${strict.path}/services`, body()), 403, 'mfa_required');
      const { body: enrolment } = await browser.post('/api/session/mfa', { password: PASSWORD });
      expectError(await client.post(`${strict.path}/services`, body()), 403, 'mfa_required');
      const confirmed = await browser.post('/api/session/mfa/confirm', { code: code(enrolment.secret) });
      expect((await client.post(`${strict.path}/services`, body())).status).to.equal(201);
      browser.csrfToken = confirmed.body.csrfToken;
      await browser.delete('/api/session/mfa', { code: code(enrolment.secret, 1) });
      expectError(await client.post(`${strict.path}/services`, body()), 403, 'mfa_required');
    });
  });

  it('backup codes replace the authenticator, each once, and end with it', async () => {
    const { browser, email, secret } = await enrolled();
    const made = await browser.post('/api/session/mfa/backup-codes', { code: code(secret, 1) });
    expect(made.status, JSON.stringify(made.body)).to.equal(200);
    const codes: string[] = made.body.codes;
    expect(new Set(codes).size).to.equal(10);
    expect((await browser.get('/api/session/mfa')).body).to.deep.equal({ mfaEnabled: true, backupCodes: 10 });
    const [first = '', second = '', third = ''] = codes;

    const again = new Browser(api.url);
    const signIn = (otp: string) => again.post('/api/session', { email, password: PASSWORD, otp });
    expect((await signIn(first)).status).to.equal(200);
    expectError(await signIn(first), 401, 'unauthenticated');
    expectError(await signIn('aaaaa-aaaaa'), 401, 'unauthenticated');
    expect((await api.db('backup_codes').select('code_hash')).length).to.be.at.least(9);

    const renewed = await browser.post('/api/session/mfa/backup-codes', { code: second });
    expect(renewed.body.codes).to.have.length(10);
    expectError(await signIn(third), 401, 'unauthenticated');
    const removed = await browser.send('DELETE', '/api/session/mfa', { code: renewed.body.codes[0] });
    expect(removed.status).to.equal(200);
    browser.csrfToken = removed.body.csrfToken;
    expect((await browser.get('/api/session/mfa')).body).to.deep.equal({ mfaEnabled: false, backupCodes: 0 });
    expectError(await browser.post('/api/session/mfa/backup-codes', { code: '123456' }), 409, 'conflict');
  });
});
