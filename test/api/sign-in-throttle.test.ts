import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { Sensitive } from '../../shared/core/sensitive.js';
import { expectError, type TestApi, useTestApi } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';

const PASSWORD = 'correct horse battery staple';
const DASHBOARD = { user: 'operator@example.com', password: new Sensitive(PASSWORD) };

/** The tests send client addresses as a proxy would. */
describe('The throttle of signing in', () => {
  let api: TestApi;
  let people = 0;

  useTestApi((given) => ({ api } = given), { trustProxy: true, dashboard: DASHBOARD });

  const from = (address: string) => new Browser(api.url, { 'X-Forwarded-For': address });
  const attempt = (address: string, email: string, password = 'wrong') =>
    from(address).post('/api/session', { email, password });
  /** Sets the number of counted guesses, so that the test need not hash hundreds of passwords. */
  const count = (name: string, points: number) =>
    api.db('rate_limits').where('key', 'like', `${name}:%`).update({ points });

  beforeEach(() => api.db('rate_limits').delete());

  async function person(): Promise<string> {
    const email = `guessed-${++people}@example.com`;
    await makeUser(api.db, { email, password: PASSWORD, verified: true });
    return email;
  }

  it('refuses the client that guesses, and lets the owner in from another address', async () => {
    const email = await person();
    expectError(await attempt('198.51.100.1', email), 401, 'unauthenticated');
    await count('guess-pair', 9);
    expectError(await attempt('198.51.100.1', email), 401, 'unauthenticated');
    expectError(await attempt('198.51.100.1', email, PASSWORD), 429, 'rate_limited');
    await from('203.0.113.7').signIn(email, PASSWORD);
  });

  it('counts all addresses of one IPv6 network together, and IPv4 however it is written', async () => {
    const email = await person();
    expectError(await attempt('2001:db8:1:2::1', email), 401, 'unauthenticated');
    expectError(await attempt('::ffff:198.51.100.2', email), 401, 'unauthenticated');
    await count('guess-pair', 10);
    expectError(await attempt('2001:db8:1:2:ffff::9', email), 429, 'rate_limited');
    expectError(await attempt('198.51.100.2', email), 429, 'rate_limited');
    expectError(await attempt('2001:db8:1:3::1', email), 401, 'unauthenticated');
    expectError(await attempt('198.51.100.3', email), 401, 'unauthenticated');
  });

  it('when many addresses guess at one account, clients that have signed in before do not wait, others take turns', async () => {
    const email = await person();
    await from('203.0.113.8').signIn(email, PASSWORD);
    await attempt('198.51.100.3', email);
    await count('guess-account', 100);
    const begun = performance.now();
    let waiting = 6;
    const guesses = Promise.all(
      Array.from({ length: waiting }, async (_, i) => {
        const { status } = await attempt(`198.51.100.${10 + i}`, email);
        waiting--;
        return status;
      }),
    );
    await from('203.0.113.8').signIn(email, PASSWORD);
    expect(waiting, 'guesses that wait for their turn').to.be.greaterThan(0);
    // Every guess comes from another address, so that no limit of an address applies.
    expect(await guesses).to.deep.equal(Array(6).fill(401));
    expect(performance.now() - begun).to.be.at.least(4_900);
  });

  it('counts wrong one-time codes of a user at all addresses, so that knowing the password does not help', async () => {
    const email = await person();
    const owner = from('203.0.113.9');
    await owner.signIn(email, PASSWORD);
    const { body: enrolment } = await owner.post('/api/session/mfa', { password: PASSWORD });
    const code = new TOTP({ secret: Secret.fromBase32(enrolment.secret) }).generate();
    expect((await owner.post('/api/session/mfa/confirm', { code })).status).to.equal(200);
    const guess = (address: string) => from(address).post('/api/session', { email, password: PASSWORD, otp: code });
    // A code is valid once, so the one that confirmed the enrolment is wrong now.
    expectError(await guess('198.51.100.5'), 401, 'unauthenticated');
    await count('guess-code', 9);
    expectError(await guess('198.51.100.6'), 401, 'unauthenticated');
    expectError(await guess('198.51.100.7'), 429, 'rate_limited');
    expectError(await attempt('198.51.100.8', email, PASSWORD), 403, 'mfa_required');
  });

  it('is one for sessions and the dashboard', async () => {
    const email = DASHBOARD.user;
    await makeUser(api.db, { email, password: PASSWORD, verified: true });
    const headers = (password: string) => ({
      'X-Forwarded-For': '198.51.100.4',
      Authorization: `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`,
    });
    const board = async (password: string) =>
      (await fetch(`${api.url}/admin/queues/`, { headers: { ...headers(password), Connection: 'close' } })).status;
    for (let i = 0; i < 5; i++) {
      expect(await board(`wrong ${i}`)).to.equal(401);
      expectError(await attempt('198.51.100.4', email), 401, 'unauthenticated');
    }
    expect(await board(PASSWORD)).to.equal(429);
    expectError(await attempt('198.51.100.4', email, PASSWORD), 429, 'rate_limited');
    const metrics = await fetch(`${api.url}/metrics`, { headers: { ...headers(PASSWORD), Connection: 'close' } });
    expect(metrics.status).to.equal(429);
  });

  it('the dashboard never refuses the right password however often it is sent, and takes no other for it', async () => {
    const headers = (password: string) => ({
      Authorization: `Basic ${Buffer.from(`${DASHBOARD.user}:${password}`).toString('base64')}`,
    });
    const board = async (password: string) =>
      (await fetch(`${api.url}/admin/queues/`, { headers: headers(password) })).status;
    for (let i = 0; i < 30; i++) expect(await board(PASSWORD)).to.equal(200);
    expect(await board('wrong')).to.equal(401);
    expect(await board(PASSWORD)).to.equal(200);
  });
});

describe('Sessions and their client', () => {
  let api: TestApi;
  let people = 0;

  useTestApi((given) => ({ api } = given), { trustProxy: true });

  const from = (address: string, headers: Record<string, string> = {}) =>
    new Browser(api.url, { 'X-Forwarded-For': address, ...headers });

  async function person(): Promise<string> {
    const email = `owner-of-cookie-${++people}@example.com`;
    await makeUser(api.db, { email, password: PASSWORD, verified: true });
    return email;
  }

  function copy(browser: Browser, to: Browser): Browser {
    for (const [name, value] of browser.cookies) to.cookies.set(name, value);
    return to;
  }

  it('without TLS a session is valid only at the address that opened it, even if all headers are copied', async () => {
    const browser = from('203.0.113.7', { 'User-Agent': 'a browser' });
    await browser.signIn(await person(), PASSWORD);
    for (const address of ['198.51.100.1', '127.0.0.1', '::1', '203.0.113.70']) {
      const thief = copy(browser, from(address, { 'User-Agent': 'a browser', 'Sec-Fetch-Site': 'same-origin' }));
      expect((await thief.bootstrap()).user, address).to.equal(null);
      copy(browser, thief);
      thief.csrfToken = browser.csrfToken;
      expectError(await thief.delete('/api/session'), 401, 'unauthenticated');
    }
    expect((await copy(browser, from('::ffff:203.0.113.7')).bootstrap()).user).to.not.equal(null);
    expect((await browser.bootstrap()).user).to.not.equal(null);
  });

  it('nor can a session of another be planted in a browser', async () => {
    const attacker = from('198.51.100.1');
    await attacker.signIn(await person(), PASSWORD);
    expect((await copy(attacker, from('203.0.113.7')).bootstrap()).user).to.equal(null);
  });

  it('without TLS the cookie is sent to paths of the API only', async () => {
    const answer = await from('203.0.113.7').post('/api/session', { email: await person(), password: PASSWORD });
    const cookie = answer.headers.getSetCookie().find((header) => header.startsWith('ranvier_session=')) ?? '';
    expect(cookie).to.match(/; path=\/api(;|$)/i);
  });

  it('over TLS a session is valid at every address, and without TLS it is not', async () => {
    const tls = { 'X-Forwarded-Proto': 'https' };
    const browser = from('203.0.113.7', tls);
    await browser.signIn(await person(), PASSWORD);
    expect((await copy(browser, from('198.51.100.9', tls)).bootstrap()).user).to.not.equal(null);
    const plain = from('203.0.113.7');
    plain.cookies.set('ranvier_session', browser.cookies.get('__Host-ranvier_session') ?? '');
    expect((await plain.bootstrap()).user).to.equal(null);
  });

  it('pages of other origins, other ports of our host among them, neither read nor write with a session', async () => {
    const browser = from('203.0.113.7');
    await browser.signIn(await person(), PASSWORD);
    const { port } = new URL(api.url);
    const foreign: Record<string, string>[] = [
      { Origin: 'http://127.0.0.1:1' },
      { Origin: 'http://thief.localhost:8080' },
      { Origin: 'null' },
      { Referer: `http://127.0.0.1:1/127.0.0.1:${port}` },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ];
    for (const headers of foreign) {
      const asked = JSON.stringify(headers);
      expect((await browser.send('DELETE', '/api/session', {}, headers)).status, asked).to.equal(403);
      expect((await browser.send('GET', '/api/v1/catalog', undefined, headers)).status, asked).to.equal(403);
    }
    const own = { Origin: api.url, Referer: `${api.url}/api/docs`, 'Sec-Fetch-Site': 'same-origin' };
    expect((await browser.send('GET', '/api/v1/catalog', undefined, own)).status).to.equal(200);
    expect((await browser.send('DELETE', '/api/session', {}, own)).status).to.equal(200);
  });

  it('a user has at most fifty sessions: the one used longest ago ends', async () => {
    const email = await person();
    const first = from('203.0.113.7');
    await first.signIn(email, PASSWORD);
    const [session] = await api.db('sessions').orderBy('created_at', 'desc').limit(1);
    const rows = Array.from({ length: 49 }, (_, i) => ({
      id: `00000000-0000-4000-8000-0000000000${String(i).padStart(2, '0')}`,
      user_id: session.user_id,
      token_hash: Buffer.from(`session ${i}`),
      expires_at: session.expires_at,
    }));
    await api.db('sessions').insert(rows);
    expect((await first.bootstrap()).user).to.not.equal(null);
    await api.db('sessions').where({ id: session.id }).update('seen_at', api.db.raw(`now() - interval '1 hour'`));
    await from('203.0.113.7').signIn(email, PASSWORD);
    expect((await first.bootstrap()).user).to.equal(null);
    expect(await api.db('sessions').where({ user_id: session.user_id })).to.have.length(50);
  });
});
