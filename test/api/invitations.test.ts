import { expect } from 'chai';
import { MAX_INVITATIONS } from '../../api/resources/invitations/commands.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { addMember } from '../../shared/identity/commands.js';
import { deleteExpiredInvitations } from '../../shared/identity/invitation-store.js';
import type { Role } from '../../shared/identity/policy.js';
import { type ApiResponse, expectError, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';
import { startSmtp, type TestSmtp } from '../support/smtp.js';

const PASSWORD = 'correct horse battery staple';
let people = 0;

describe('Invitations by e-mail', () => {
  let smtp: TestSmtp;
  let api: TestApi;
  let workspace: TestWorkspace;
  let admin: Awaited<ReturnType<typeof signedIn>>;

  before(async () => {
    smtp = await startSmtp();
    api = await startTestApi({
      mail: { smtpUrl: new Sensitive(smtp.url), from: 'ranvier@example.com' },
      publicUrl: 'https://paas.example',
    });
  });
  after(async () => {
    await api?.close();
    await smtp?.close();
  });
  beforeEach(async () => {
    workspace = await api.workspace();
    admin = await signedIn('admin');
  });

  async function signedIn(role: Role, of = workspace) {
    const email = `${role}-who-invites-${++people}@example.com`;
    const user = await makeUser(api.db, { email, password: PASSWORD });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: of.id, email, role }));
    const browser = new Browser(api.url);
    await browser.signIn(email, PASSWORD);
    const send = (method: string, path: string, body?: unknown): Promise<ApiResponse> =>
      browser.send(method, `/api/v1${of.path}${path}`, method === 'GET' ? undefined : (body ?? {}));
    return { id: user.id, email, send };
  }
  const newAddress = () => `invited-${++people}@example.com`;
  const invite = (email: string, role: Role = 'developer') => admin.send('POST', '/invitations', { email, role });
  const linkOf = (text = '') => /^https:\/\/paas\.example\/invitation#([\w-]{43})$/m.exec(text)?.[1] ?? '';
  const lastToken = () => linkOf(smtp.mails.at(-1)?.text);
  const accept = async (token: string, password = 'a password of my own') => {
    const browser = new Browser(api.url);
    await browser.bootstrap();
    return { browser, answer: await browser.post('/api/session/invitation', { token, password }) };
  };

  it('mail a link; with it a person chooses a password, is verified, signed in and a member', async () => {
    const email = newAddress();
    const { status, body } = await invite(email.toUpperCase());
    expect(status).to.equal(201);
    expect(body.sent).to.equal(true);
    expect(body.invitation).to.include({ email, role: 'developer', invitedBy: admin.email });
    const mail = smtp.mails.at(-1);
    expect(mail?.to).to.deep.equal([email]);
    const token = lastToken();
    expect(token, mail?.text).to.have.length(43);
    expect(JSON.stringify(body)).to.not.include(token);
    expect(JSON.stringify(await api.db('invitations').select())).to.not.include(token);
    const { browser, answer } = await accept(token);
    expect(answer.status).to.equal(200);
    expect(answer.body.user).to.include({ email, emailVerified: true });
    expect(answer.body.workspaces).to.have.length(1);
    expect(answer.body.workspaces[0]).to.include({ id: workspace.id, role: 'developer' });
    expect((await browser.bootstrap()).user.email).to.equal(email);
    expect((await admin.send('GET', '/invitations')).body.invitations).to.deep.equal([]);
    expectError((await accept(token)).answer, 400, 'invalid_request');
    await new Browser(api.url).signIn(email, 'a password of my own');
  });

  it('are listed, are withdrawn, and only the newest of an address counts', async () => {
    const email = newAddress();
    await invite(email);
    const first = lastToken();
    await invite(email, 'viewer');
    const second = lastToken();
    const { invitations } = (await admin.send('GET', '/invitations')).body;
    expect(invitations).to.have.length(1);
    expect(invitations[0]).to.include({ email, role: 'viewer' });
    expectError((await accept(first)).answer, 400, 'invalid_request');
    const one = `/invitations/${invitations[0].id}`;
    expect((await admin.send('DELETE', one)).body).to.deep.equal({ deleted: true });
    expectError(await admin.send('DELETE', one), 404, 'not_found');
    expectError((await accept(second)).answer, 400, 'invalid_request');
    expect(await api.db('users').where({ email })).to.deep.equal([]);
  });

  it('are for people without an account, by those who may give the role', async () => {
    const { email } = await makeUser(api.db, { email: newAddress() });
    expectError(await invite(email), 409, 'conflict');
    expectError(await invite(newAddress(), 'owner'), 403, 'forbidden');
    const developer = await signedIn('developer');
    expectError(
      await developer.send('POST', '/invitations', { email: newAddress(), role: 'viewer' }),
      403,
      'forbidden',
    );
    const late = newAddress();
    await invite(late);
    await makeUser(api.db, { email: late, password: PASSWORD });
    expectError((await accept(lastToken())).answer, 409, 'conflict');
  });

  it('end when they expire, and when who invited is no longer a member with that role', async () => {
    await invite(newAddress());
    const token = lastToken();
    await api.db.raw(`update invitations set expires_at = now() - interval '1 second'`);
    expectError((await accept(token)).answer, 400, 'invalid_request');
    expect(await deleteExpiredInvitations(api.db)).to.be.greaterThan(0);
    const owner = await signedIn('owner');
    await invite(newAddress());
    const other = lastToken();
    await owner.send('DELETE', `/members/${admin.id}`);
    expectError((await accept(other)).answer, 400, 'invalid_request');
    expect((await owner.send('GET', '/invitations')).body.invitations).to.deep.equal([]);
  });

  it('are refused with a password that is too short, and keep their link', async () => {
    await invite(newAddress());
    const token = lastToken();
    expectError((await accept(token, 'short')).answer, 400, 'invalid_request');
    expect((await accept(token)).answer.status).to.equal(200);
  });

  it('say if the mail was refused; the same request sends it again', async () => {
    const email = newAddress();
    smtp.refuse(true);
    try {
      expect((await invite(email)).body.sent).to.equal(false);
    } finally {
      smtp.refuse(false);
    }
    expect((await invite(email)).body.sent).to.equal(true);
    expect((await accept(lastToken())).answer.status).to.equal(200);
  });

  it('are bounded, withdrawn ones included', async () => {
    const row = { workspace_id: workspace.id, role: 'viewer', invited_by: admin.email };
    await api.db('invitations').insert(
      Array.from({ length: MAX_INVITATIONS }, (_, index) => ({
        ...row,
        id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        email: newAddress(),
        expires_at: new Date(Date.now() + 60_000),
      })),
    );
    expectError(await invite(newAddress()), 409, 'capacity_exceeded');
  });

  it('are not made by an installation that sends no e-mail', async () => {
    const silent = await startTestApi();
    try {
      const place = await silent.workspace();
      const email = `${++people}@example.com`;
      await makeUser(silent.db, { email, password: PASSWORD });
      await silent.db.transaction((trx) => addMember(trx, { workspaceId: place.id, email, role: 'admin' }));
      const browser = new Browser(silent.url);
      await browser.signIn(email, PASSWORD);
      const body = { email: newAddress(), role: 'viewer' };
      expectError(await browser.send('POST', `/api/v1${place.path}/invitations`, body), 409, 'conflict');
    } finally {
      await silent.close();
    }
  });
});
