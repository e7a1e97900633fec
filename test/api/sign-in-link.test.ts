import { expect } from 'chai';
import { addMember } from '../../shared/identity/commands.js';
import { createSignInLink } from '../../shared/identity/sign-in.js';
import { type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';

describe('A one-time sign-in link', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let people = 0;

  useTestApi((given) => {
    ({ api, workspace } = given);
  });

  async function link(): Promise<{ token: string; email: string }> {
    const email = `linked-${++people}@example.com`;
    await makeUser(api.db, { email });
    await api.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email, role: 'developer' }));
    return { token: await createSignInLink(api.db, email), email };
  }

  const open = (token: string, browser = new Browser(api.url)) => browser.post('/api/session/link', { token });

  it('starts a session that can write, and works once', async () => {
    const { token, email } = await link();
    const browser = new Browser(api.url);
    const answer = await open(token, browser);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    expect(answer.body.user.email).to.equal(email);
    expect((await browser.bootstrap()).user.email).to.equal(email);
    const services = `/api/v1${workspace.path}/services`;
    const { service } = (await browser.post(services, { name: 'of a link', kind: 'web' })).body;
    const change = { configuration: { startCommand: 'node server.js' } };
    const changed = await browser.send('PATCH', `${services}/${service.id}`, change);
    expect([changed.status, changed.body.service?.configuration.startCommand]).to.deep.equal([200, 'node server.js']);
    const again = await open(token);
    expect([again.status, again.body.error.code]).to.deep.equal([401, 'unauthenticated']);
  });

  it('signs in one of two that open it at once', async () => {
    const { token } = await link();
    const statuses = await Promise.all(
      [open(token), open(token), open(token)].map(async (answer) => (await answer).status),
    );
    expect(statuses.sort()).to.deep.equal([200, 401, 401]);
  });

  it('is refused after a quarter of an hour', async () => {
    const { token } = await link();
    await api.db.raw(`update sign_in_links set expires_at = expires_at - interval '15 minutes'`);
    expect((await open(token)).status).to.equal(401);
  });

  it('is stored as a hash only', async () => {
    const { token } = await link();
    const rows = await api.db('sign_in_links').select();
    expect(JSON.stringify(rows)).to.not.include(token);
  });

  it('asks for the second factor, and stays valid until it is right', async () => {
    const { token, email } = await link();
    await api.db('users').where({ email }).update({ totp_confirmed_at: new Date() });
    const missing = await open(token);
    expect([missing.status, missing.body.error.code]).to.deep.equal([403, 'mfa_required']);
    await api.db('users').where({ email }).update({ totp_confirmed_at: null });
    expect((await open(token)).status).to.equal(200);
  });

  it('cannot be used by a page of another site', async () => {
    const { token } = await link();
    const answer = await fetch(`${api.url}/api/session/link`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: 'https://elsewhere.example' },
      body: JSON.stringify({ token }),
    });
    expect(answer.status).to.equal(403);
  });
});
