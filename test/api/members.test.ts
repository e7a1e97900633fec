import { expect } from 'chai';
import { addMember } from '../../shared/identity/commands.js';
import type { Role } from '../../shared/identity/policy.js';
import {
  type ApiResponse,
  expectError,
  type Json,
  newKey,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { Browser } from '../support/browser.js';
import { makeUser } from '../support/factories.js';

const PASSWORD = 'correct horse battery staple';
let people = 0;

async function signedIn(api: TestApi, workspace: TestWorkspace, role: Role) {
  const email = `${role}-in-a-browser-${++people}@example.com`;
  const user = await makeUser(api.db, { email, password: PASSWORD });
  await api.db.transaction((trx) => addMember(trx, { workspaceId: workspace.id, email, role }));
  const browser = new Browser(api.url);
  await browser.signIn(email, PASSWORD);
  const send = (method: string, path: string, body?: unknown): Promise<ApiResponse> =>
    browser.send(method, `/api/v1${workspace.path}${path}`, method === 'GET' ? undefined : (body ?? {}));
  return { id: user.id, email, browser, send };
}

describe('Members of a workspace', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let owner: Awaited<ReturnType<typeof signedIn>>;
  let admin: Awaited<ReturnType<typeof signedIn>>;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
    owner = await signedIn(api, workspace, 'owner');
    admin = await signedIn(api, workspace, 'admin');
  });

  const user = async () => (await makeUser(api.db, { email: `new-${++people}@example.com` })).email;
  const roles = async () => {
    const { body } = await owner.send('GET', '/members');
    return Object.fromEntries(body.members.map(({ email, role }: Json) => [email, role]));
  };

  it('are listed for every member, without anything secret', async () => {
    const viewer = await workspace.member('viewer');
    const { status, body } = await viewer.reader.get(`${workspace.path}/members`);
    expect(status).to.equal(200);
    expect(body.members.map(({ role }: Json) => role)).to.deep.equal(['owner', 'owner', 'admin', 'viewer']);
    expect(Object.keys(body.members[0])).to.have.members([
      'id',
      'email',
      'role',
      'emailVerified',
      'mfaEnabled',
      'createdAt',
    ]);
  });

  async function invited(role: Role) {
    const email = `new-${++people}@example.com`;
    const { id } = await makeUser(api.db, { email, password: PASSWORD });
    const { status, body } = await admin.send('POST', '/members', { email: email.toUpperCase(), role });
    expect(status, JSON.stringify(body)).to.equal(201);
    const browser = new Browser(api.url);
    await browser.signIn(email, PASSWORD);
    const answer = (accept: boolean) =>
      browser.post('/api/session/invitations', { invitationId: body.invitation.id, accept });
    return { id, email, browser, invitation: body.invitation, answer };
  }

  it('are invited if they are users: they accept or decline, and nobody learns of them before', async () => {
    const { email, browser, invitation, answer } = await invited('viewer');
    expect(Object.keys(invitation)).to.not.include.members(['mfaEnabled', 'emailVerified']);
    expect(await roles()).to.not.have.property(email);
    expectError(await browser.get(`/api/v1${workspace.path}`), 404, 'not_found');
    const { invitations } = (await browser.get('/api/session/invitations')).body;
    expect(invitations).to.have.length(1);
    expect(invitations[0]).to.include({ id: invitation.id, role: 'viewer', invitedBy: admin.email });
    const stranger = { invitationId: invitation.id, accept: true };
    expectError(await owner.browser.post('/api/session/invitations', stranger), 404, 'not_found');
    expect((await answer(true)).body).to.deep.equal({ invitations: [] });
    expect((await roles())[email]).to.equal('viewer');
    expectError(await answer(true), 404, 'not_found');

    const other = await invited('developer');
    expect((await other.answer(false)).status).to.equal(200);
    expectError(await other.answer(true), 404, 'not_found');
    expect(await roles()).to.not.have.property(other.email);

    const late = await invited('developer');
    expect((await admin.send('DELETE', `/invitations/${late.invitation.id}`)).status).to.equal(200);
    expectError(await late.answer(true), 404, 'not_found');
  });

  it('are added with a role, changed and removed', async () => {
    const { id, email, answer } = await invited('viewer');
    await answer(true);
    const one = `/members/${id}`;
    expect((await admin.send('PATCH', one, { role: 'developer' })).body.member).to.include({
      email,
      role: 'developer',
    });
    expect((await roles())[email]).to.equal('developer');
    expect((await admin.send('DELETE', one)).body).to.deep.equal({ deleted: true });
    expect(await roles()).to.not.have.property(email);
    expectError(await admin.send('DELETE', one), 404, 'not_found');
    expectError(await admin.send('PATCH', one, { role: 'viewer' }), 404, 'not_found');
  });

  it('must be users: an unknown address is refused with what to do, a member is not added twice', async () => {
    const unknown = await admin.send('POST', '/members', { email: 'nobody@example.com', role: 'viewer' });
    expectError(unknown, 404, 'not_found');
    expect(unknown.body.error.message).to.include('npm run admin -- user create --email nobody@example.com');
    expectError(await admin.send('POST', '/members', { email: owner.email, role: 'viewer' }), 409, 'conflict');
    for (const body of [{ email: 'x', role: 'viewer' }, { email: 'a@example.com', role: 'root' }, {}])
      expectError(await admin.send('POST', '/members', body), 400, 'invalid_request');
  });

  it('who are owners are made, changed and removed by owners only', async () => {
    const email = await user();
    expectError(await admin.send('POST', '/members', { email, role: 'owner' }), 403, 'forbidden');
    expectError(await admin.send('PATCH', `/members/${admin.id}`, { role: 'owner' }), 403, 'forbidden');
    expectError(await admin.send('PATCH', `/members/${owner.id}`, { role: 'viewer' }), 403, 'forbidden');
    expectError(await admin.send('DELETE', `/members/${owner.id}`), 403, 'forbidden');
    expect((await owner.send('PATCH', `/members/${admin.id}`, { role: 'owner' })).status).to.equal(200);
  });

  it('always have an owner among them, whatever two owners do at the same time', async () => {
    expect((await owner.send('DELETE', `/members/${workspace.owner.userId}`)).status).to.equal(200);
    expectError(await owner.send('DELETE', `/members/${owner.id}`), 409, 'conflict');
    expectError(await owner.send('PATCH', `/members/${owner.id}`, { role: 'admin' }), 409, 'conflict');
    const other = await signedIn(api, workspace, 'owner');
    const answers = await Promise.all([
      owner.send('DELETE', `/members/${other.id}`),
      other.send('DELETE', `/members/${owner.id}`),
    ]);
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    const left = await api.db('memberships').where({ workspace_id: workspace.id, role: 'owner' });
    expect(left).to.have.length(1);
  });

  it('are given access in a session only; a key may take it away', async () => {
    const email = await user();
    const { client } = workspace.owner;
    const refused = await client.post(`${workspace.path}/members`, { email, role: 'viewer' });
    expectError(refused, 403, 'forbidden');
    expect(refused.body.error.message).to.include('sign in');
    expectError(await client.patch(`${workspace.path}/members/${admin.id}`, { role: 'viewer' }), 403, 'forbidden');
    expect((await client.delete(`${workspace.path}/members/${admin.id}`, {})).status).to.equal(200);
  });

  it('find their workspaces in a list, where a key sees the one that it belongs to', async () => {
    const other = await api.workspace();
    await api.db.transaction((trx) => addMember(trx, { workspaceId: other.id, email: owner.email, role: 'viewer' }));
    const { workspaces } = (await owner.browser.get('/api/v1/workspaces')).body;
    expect(workspaces.map(({ id, role }: Json) => [id, role])).to.deep.equal([
      [workspace.id, 'owner'],
      [other.id, 'viewer'],
    ]);
    const { key } = await newKey(api.db, workspace.id, owner.email, 'read');
    const answer = await api.client(`Bearer ${key}`).get('/workspaces');
    expect(answer.body.workspaces.map(({ id }: Json) => id)).to.deep.equal([workspace.id]);
  });

  it('of another workspace are out of reach', async () => {
    const stranger = await signedIn(api, await api.workspace(), 'owner');
    expectError(await owner.send('PATCH', `/members/${stranger.id}`, { role: 'viewer' }), 404, 'not_found');
    expectError(await owner.send('DELETE', `/members/${stranger.id}`), 404, 'not_found');
    const foreign = await stranger.browser.get(`/api/v1${workspace.path}/members`);
    expectError(foreign, 404, 'not_found');
  });

  it('who were removed lose their keys for good, also if they come back', async () => {
    const developer = await workspace.member('developer');
    await owner.send('DELETE', `/members/${developer.userId}`);
    expectError(await developer.client.get(workspace.path), 401, 'unauthenticated');
    await owner.send('POST', '/members', { email: developer.email, role: 'developer' });
    expectError(await developer.client.get(workspace.path), 401, 'unauthenticated');
  });

  describe('and their keys', () => {
    it('are made in a session and shown once: no list, no receipt, no audit entry has the secret', async () => {
      const developer = await signedIn(api, workspace, 'developer');
      const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
      const body = { name: 'laptop', scope: 'write', expiresAt };
      const made = await developer.browser.post(`/api/v1${workspace.path}/keys`, body, { 'Idempotency-Key': 'k' });
      expect(made.status).to.equal(201);
      const { key, secret } = made.body;
      expect(key).to.include({ name: 'laptop', scope: 'write', email: developer.email, expiresAt, lastUsedAt: null });
      expect(secret.startsWith(`${key.prefix}_`)).to.equal(true);
      const client = api.client(`Bearer ${secret}`);
      expect((await client.post(`${workspace.path}/services`, { name: 'made with it', kind: 'web' })).status).to.equal(
        201,
      );
      const { body: listed } = await developer.send('GET', '/keys');
      expect(listed.keys.map(({ id }: Json) => id)).to.deep.equal([key.id]);
      expect(listed.keys[0].lastUsedAt).to.be.a('string');
      const hidden = secret.slice(key.prefix.length + 1);
      const stored = JSON.stringify([
        listed,
        await api.db('receipts'),
        await api.db('audit_entries'),
        await api.db('api_keys'),
      ]);
      expect(stored).to.not.include(hidden);
    });

    it('are not made with a key, nor with a wrong scope or an end in the past', async () => {
      const body = { name: 'x', scope: 'read' };
      expectError(await workspace.owner.client.post(`${workspace.path}/keys`, body), 403, 'forbidden');
      for (const wrong of [
        { name: ' ', scope: 'read' },
        { name: 'x', scope: 'admin' },
        { name: 'x', scope: 'read', expiresAt: '2020-01-01T00:00:00Z' },
      ])
        expectError(await owner.send('POST', '/keys', wrong), 400, 'invalid_request');
      const { browser } = owner;
      const path = `/api/v1${workspace.path}/keys`;
      expectError(await browser.post(path, body, { 'X-CSRFToken': null }), 403, 'csrf_failed');
    });

    it('are at most fifty for each member', async () => {
      for (let i = 0; i < 50; i++)
        expect((await owner.send('POST', '/keys', { name: `${i}`, scope: 'read' })).status).to.equal(201);
      expectError(await owner.send('POST', '/keys', { name: 'one more', scope: 'read' }), 409, 'capacity_exceeded');
      const { body } = await owner.send('GET', '/keys?limit=1');
      await owner.send('DELETE', `/keys/${body.keys[0].id}`);
      expect((await owner.send('POST', '/keys', { name: 'one more', scope: 'read' })).status).to.equal(201);
    });

    it('are seen and revoked by their member and by admins', async () => {
      const developer = await signedIn(api, workspace, 'developer');
      const other = await workspace.member('developer');
      const own = (await developer.send('POST', '/keys', { name: 'own', scope: 'read' })).body;
      const ids = async (who: typeof developer) => (await who.send('GET', '/keys')).body.keys.map(({ id }: Json) => id);
      expect(await ids(developer)).to.deep.equal([own.key.id]);
      expect(await ids(admin)).to.include.members([own.key.id, other.keyId, workspace.owner.keyId]);
      expectError(await developer.send('DELETE', `/keys/${other.keyId}`), 404, 'not_found');
      expect((await admin.send('DELETE', `/keys/${other.keyId}`)).body).to.deep.equal({ deleted: true });
      expectError(await other.client.get(workspace.path), 401, 'unauthenticated');
      expectError(await admin.send('DELETE', `/keys/${other.keyId}`), 404, 'not_found');
      expect((await developer.send('DELETE', `/keys/${own.key.id}`)).status).to.equal(200);
      expect(await ids(developer)).to.deep.equal([]);
    });
  });

  describe('and the audit log', () => {
    it('tells every write with actor, credential, target and request, newest first in pages, without values', async () => {
      const { client } = workspace.owner;
      const created = await client.post(
        `${workspace.path}/services`,
        { name: 'shop', kind: 'web', variables: [{ key: 'FIRST', value: 'hidden-value' }] },
        { 'X-Request-ID': 'the-request' },
      );
      const { id } = created.body.service;
      await client.post(`${workspace.path}/services/${id}/variables`, { key: 'TOKEN', value: 'hidden-value' });
      await owner.send('POST', '/keys', { name: 'laptop', scope: 'read' });
      await client.delete(`${workspace.path}/services/${id}`, { confirm: 'shop' });
      await client.get(`${workspace.path}/services`);
      expectError(await client.post(`${workspace.path}/services`, { name: '', kind: 'web' }), 400, 'invalid_request');
      const first = (await admin.send('GET', '/audit?limit=3')).body;
      const rest = (await admin.send('GET', `/audit?limit=3&cursor=${first.page.nextCursor}`)).body;
      const entries = [...first.entries, ...rest.entries];
      expect(entries.map(({ operation, target }: Json) => `${operation} ${target.name}`)).to.deep.equal([
        'service.delete shop',
        'key.create laptop',
        'variable.create TOKEN',
        'service.create shop',
      ]);
      expect(entries[3]).to.deep.include({
        actor: workspace.owner.email,
        credential: { kind: 'key', id: workspace.owner.keyId, name: 'test' },
        target: { path: '/services', id, name: 'shop' },
        requestId: 'the-request',
      });
      expect(entries[1]).to.deep.include({ actor: owner.email });
      expect(entries[1].credential).to.include({ kind: 'session', name: null });
      expect(JSON.stringify(entries)).to.not.include('hidden-value');
    });

    it('is for admins, and each workspace has its own', async () => {
      const developer = await workspace.member('developer');
      expectError(await developer.client.get(`${workspace.path}/audit`), 403, 'forbidden');
      const other = await api.workspace();
      await other.owner.client.post(`${other.path}/services`, { name: 'elsewhere', kind: 'web' });
      expect((await workspace.owner.reader.get(`${workspace.path}/audit`)).body.entries).to.deep.equal([]);
    });
  });
});
