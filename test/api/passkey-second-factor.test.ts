import { expect } from 'chai';
import { Challenges } from '../../api/resources/session/passkeys/challenges.js';
import { addMember } from '../../shared/identity/commands.js';
import { createSignInLink } from '../../shared/identity/sign-in.js';
import { runAdmin } from '../support/admin.js';
import { expectError, type Json, newKey, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';
import { makePasskey, type SoftPasskey } from '../support/passkeys.js';

const PASSWORD = 'correct horse battery staple';

describe('A passkey as the second factor', () => {
  let api: TestApi;
  let strict: TestWorkspace;
  let people = 0;

  useTestApi(async (given) => {
    ({ api } = given);
    strict = await api.workspace();
    await strict.owner.client.patch(strict.path, { configuration: { requireMfa: true } });
  });

  const origin = () => new URL(api.config.publicUrl).origin;
  const services = () => `/api/v1${strict.path}/services`;
  const newService = () => ({ name: `service ${++people}`, kind: 'web' });

  interface Person {
    id: string;
    email: string;
    passkey: SoftPasskey;
  }

  async function newPerson({ totp = false, member = true } = {}): Promise<Person> {
    const email = `person-${++people}@example.com`;
    const { id } = await makeUser(api.db, { email, password: PASSWORD, verified: true });
    if (totp) await api.db('users').where({ id }).update({ totp_confirmed_at: new Date() });
    if (member) await api.db.transaction((t) => addMember(t, { workspaceId: strict.id, email, role: 'developer' }));
    return { id, email, passkey: await makePasskey(api.db, id) };
  }

  const optionsFor = (browser: Browser, body: object) => browser.post('/api/session/passkey/options', body);

  async function attempt(
    { email, passkey }: Person,
    { browser = new Browser(api.url), answer = {} }: { browser?: Browser; answer?: object } = {},
  ) {
    const first = { email, password: PASSWORD };
    const { body } = await optionsFor(browser, first);
    const proof = passkey.answer(body.options, { origin: origin(), ...answer });
    return { browser, proof, given: await browser.post('/api/session', { ...first, passkey: proof }) };
  }

  const fresh = () => new Browser(api.url);
  const withPassword = (browser: Browser, { email }: Person, passkey?: Json) =>
    browser.post('/api/session', { email, password: PASSWORD, ...(passkey && { passkey }) });

  it('is asked for beside the code of an authenticator, and accepted without a PIN', async () => {
    const person = await newPerson({ totp: true });
    const asked = await withPassword(fresh(), person);
    expectError(asked, 403, 'mfa_required');
    expect(asked.body.error.details.map(({ path }: { path: string }) => path)).to.deep.equal(['/otp', '/passkey']);
    const { browser, given } = await attempt(person);
    expect(given.status, JSON.stringify(given.body)).to.equal(200);
    expect((await browser.bootstrap()).user.mfaVerified).to.equal(true);
    expect((await browser.post(services(), newService())).status).to.equal(201);
  });

  it('alone counts where a workspace requires a second factor: it is asked for, and keys of its user write', async () => {
    const person = await newPerson();
    const asked = await withPassword(fresh(), person);
    expectError(asked, 403, 'mfa_required');
    expect(asked.body.error.details.map(({ path }: { path: string }) => path)).to.deep.equal(['/passkey']);
    expectError(
      await fresh().post('/api/session', { email: person.email, password: PASSWORD, otp: '123456' }),
      403,
      'mfa_required',
    );
    const { browser, given } = await attempt(person);
    expect(given.status).to.equal(200);
    await browser.bootstrap();
    expect((await browser.post(services(), newService())).status).to.equal(201);
    const { key } = await newKey(api.db, strict.id, person.email, 'write');
    const write = () => api.client(`Bearer ${key}`).post(`${strict.path}/services`, newService());
    expect((await write()).status).to.equal(201);
    const { body } = await strict.owner.client.get(`${strict.path}/members`);
    expect(body.members.find(({ email }: { email: string }) => email === person.email).mfaEnabled).to.equal(true);
    await api.db('passkeys').where({ user_id: person.id }).delete();
    expectError(await write(), 403, 'mfa_required');
  });

  it('alone is not asked for where no workspace requires it', async () => {
    const person = await newPerson({ member: false });
    const browser = fresh();
    expect((await withPassword(browser, person)).status).to.equal(200);
    expect((await browser.bootstrap()).user.mfaVerified).to.equal(false);
  });

  it('completes a sign-in with a link too, and for that link only', async () => {
    const person = await newPerson();
    const [one, other] = [await createSignInLink(api.db, person.email), await createSignInLink(api.db, person.email)];
    const browser = fresh();
    await browser.bootstrap();
    expectError(await browser.post('/api/session/link', { token: one }), 403, 'mfa_required');
    const { body } = await optionsFor(browser, { token: one });
    const passkey = person.passkey.answer(body.options, { origin: origin() });
    expectError(await browser.post('/api/session/link', { token: other, passkey }), 401, 'unauthenticated');
    expectError(await withPassword(browser, person, passkey), 401, 'unauthenticated');
    expect((await browser.post('/api/session/link', { token: one, passkey })).status).to.equal(200);
    expectError(await optionsFor(fresh(), { token: one }), 400, 'invalid_request');
  });

  it('is offered after a right first proof only, and to those who have one', async () => {
    const person = await newPerson({ totp: true });
    const { email } = person;
    const { body } = await optionsFor(fresh(), { email, password: PASSWORD });
    expect(body.options.allowCredentials.map(({ id }: { id: string }) => id)).to.deep.equal([person.passkey.id]);
    expect(body.options.userVerification).to.equal('discouraged');
    expectError(await optionsFor(fresh(), { email, password: 'wrong' }), 401, 'unauthenticated');
    expectError(await optionsFor(fresh(), { email }), 400, 'invalid_request');
    expectError(await optionsFor(fresh(), { password: PASSWORD }), 400, 'invalid_request');
    expectError(await optionsFor(fresh(), { token: 'x' }), 400, 'invalid_request');
    await api.db('passkeys').where({ user_id: person.id }).delete();
    expectError(await optionsFor(fresh(), { email, password: PASSWORD }), 409, 'conflict');
  });

  it('does not replace the password, and is no sign-in without a PIN', async () => {
    const person = await newPerson();
    const { body } = await optionsFor(fresh(), { email: person.email, password: PASSWORD });
    const passkey = person.passkey.answer(body.options, { origin: origin() });
    expectError(
      await fresh().post('/api/session', { email: person.email, password: 'wrong', passkey }),
      401,
      'unauthenticated',
    );
    const alone = await optionsFor(fresh(), {});
    const signIn = (verified: boolean) =>
      fresh().post('/api/session/passkey', {
        credential: person.passkey.answer(alone.body.options, { origin: origin(), verified }),
      });
    expectError(await fresh().post('/api/session/passkey', { credential: passkey }), 401, 'unauthenticated');
    expectError(await signIn(false), 401, 'unauthenticated');
    expect((await signIn(true)).status).to.equal(200);
  });

  describe('is refused', () => {
    it('if it was answered already, also by two at once', async () => {
      const person = await newPerson();
      const browser = fresh();
      const first = { email: person.email, password: PASSWORD };
      const { body } = await optionsFor(browser, first);
      const passkey = person.passkey.answer(body.options, { origin: origin() });
      const both = await Promise.all([withPassword(fresh(), person, passkey), withPassword(fresh(), person, passkey)]);
      expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 401]);
      const again = await withPassword(browser, person, passkey);
      expectError(again, 401, 'unauthenticated');
      expect(again.body.error.message).to.contain('used before');
    });

    it('if it is that of another user', async () => {
      const [person, thief] = [await newPerson(), await newPerson()];
      const browser = fresh();
      const { body } = await optionsFor(browser, { email: person.email, password: PASSWORD });
      const theirs = thief.passkey.answer(body.options, { origin: origin() });
      expectError(await withPassword(browser, person, theirs), 401, 'unauthenticated');
      // An answer that claims the person's passkey is refused, and so is an answer to a challenge of the thief's own
      // sign-in.
      const { id } = person.passkey;
      expectError(await withPassword(browser, person, { ...theirs, id, rawId: id }), 401, 'unauthenticated');
      const own = await optionsFor(browser, { email: thief.email, password: PASSWORD });
      const misplaced = person.passkey.answer(own.body.options, { origin: origin() });
      expectError(await withPassword(browser, person, misplaced), 401, 'unauthenticated');
      expectError(await withPassword(browser, person), 403, 'mfa_required');
    });

    it('in another browser than the one that asked', async () => {
      const person = await newPerson();
      const [asked, other] = [fresh(), fresh()];
      await asked.bootstrap();
      await other.bootstrap();
      const { body } = await optionsFor(asked, { email: person.email, password: PASSWORD });
      const passkey = person.passkey.answer(body.options, { origin: origin() });
      expectError(await withPassword(other, person, passkey), 401, 'unauthenticated');
      expect((await withPassword(asked, person, passkey)).status).to.equal(200);
    });

    it('after five minutes', async () => {
      const person = await newPerson();
      const subject = `second step ${JSON.stringify([person.id, '', null])}`;
      const challenges = new Challenges(Buffer.from(api.config.secretsKey.reveal(), 'base64'));
      const answer = (age: number) => {
        const challenge = challenges.create(subject, Date.now() - age).toString('base64url');
        return person.passkey.answer({ challenge, rpId: new URL(origin()).hostname }, { origin: origin() });
      };
      expectError(await withPassword(fresh(), person, answer(301_000)), 401, 'unauthenticated');
      expect((await withPassword(fresh(), person, answer(60_000))).status).to.equal(200);
    });

    it('from another site, and if it was signed for another purpose', async () => {
      const person = await newPerson();
      const elsewhere = await attempt(person, { answer: { origin: 'https://evil.example' } });
      expectError(elsewhere.given, 401, 'unauthenticated');
      const registration = await attempt(person, { answer: { changes: { type: 'webauthn.create' } } });
      expectError(registration.given, 401, 'unauthenticated');
      const alone = (await optionsFor(fresh(), {})).body.options;
      const passkey = person.passkey.answer(alone, { origin: origin(), verified: true });
      expectError(await withPassword(fresh(), person, passkey), 401, 'unauthenticated');
    });
  });

  it('that is lost is removed by an operator, after which the password suffices', async () => {
    const person = await newPerson();
    const done = await runAdmin(api.config.databaseUrl.reveal(), 'user', 'reset-mfa', '--email', person.email);
    expect(done.code, done.stderr).to.equal(0);
    expect((await withPassword(fresh(), person)).status).to.equal(200);
  });
});
