import { expect } from 'chai';
import { removeMember, revokeApiKey } from '../../shared/identity/commands.js';
import { expectError, newKey, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

describe('Authentication', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api, workspace } = given));

  it('missing, malformed and unknown keys are 401 with WWW-Authenticate', async () => {
    const { key } = workspace.owner;
    const wrongSecret = `${key.slice(0, -2)}${key.endsWith('AA') ? 'BB' : 'AA'}`;
    const wrong = [
      undefined,
      'Bearer',
      'Bearer ',
      'Bearer nonsense',
      `Bearer ${key}x`,
      `Bearer ${key} ${key}`,
      `Basic ${key}`,
      key,
      `Bearer ${key.replace('rnv_', 'abc_')}`,
      `Bearer ${wrongSecret}`,
    ];
    for (const authorization of wrong) {
      const response = await api.client(authorization).get('/catalog');
      expectError(response, 401, 'unauthenticated');
      expect(response.headers.get('www-authenticate')).to.match(/^Bearer/);
    }
    expect((await api.client(`bearer   ${key}`).get('/catalog')).status).to.equal(200);
  });

  it('an expired and a revoked key are 401', async () => {
    const expired = await newKey(api.db, workspace.id, workspace.owner.email, 'write', new Date(Date.now() - 1000));
    const later = await newKey(api.db, workspace.id, workspace.owner.email, 'write', new Date(Date.now() + 60_000));
    expectError(await api.client(`Bearer ${expired.key}`).get(workspace.path), 401, 'unauthenticated');
    const client = api.client(`Bearer ${later.key}`);
    expect((await client.get(workspace.path)).status).to.equal(200);
    await revokeApiKey(api.db, later.row.id);
    expectError(await client.get(workspace.path), 401, 'unauthenticated');
  });

  it('notes the use of a key, at most once a minute', async () => {
    const member = await workspace.member('viewer');
    const used = async () => (await api.db('api_keys').where({ id: member.keyId }).first()).last_used_at;
    expect(await used()).to.equal(null);
    await member.client.get(workspace.path);
    const first = await used();
    expect(first).to.be.instanceOf(Date);
    await member.client.get(workspace.path);
    expect(await used()).to.deep.equal(first);
    await api
      .db('api_keys')
      .where({ id: member.keyId })
      .update({ last_used_at: new Date(Date.now() - 61_000) });
    await member.client.get(workspace.path);
    expect((await used()).getTime()).to.be.at.least(first.getTime());
  });

  it('a key opens its own workspace only, even if its owner is a member of another', async () => {
    const other = await api.workspace();
    for (const id of [other.id, '00000000-0000-4000-8000-000000000000', 'nonsense']) {
      expectError(await workspace.owner.client.get(`/workspaces/${id}`), 404, 'not_found');
      expectError(await workspace.owner.client.post(`/workspaces/${id}/services`, {}), 404, 'not_found');
    }
    expect((await workspace.owner.client.get(`/workspaces/${workspace.id.toUpperCase()}`)).status).to.equal(200);
  });

  it('the key of a removed member is 404 on reads and 403 on writes', async () => {
    const member = await workspace.member('developer');
    const service = await newService(member.client, workspace.path);
    await api.db.transaction((trx) => removeMember(trx, { workspaceId: workspace.id, email: member.email }));
    expectError(await member.client.get(workspace.path), 404, 'not_found');
    const path = `${workspace.path}/services/${service.id}`;
    expectError(await member.client.get(path), 404, 'not_found');
    expectError(await member.client.post(`${path}/archive`), 403, 'forbidden');
    expect((await member.client.get('/catalog')).status).to.equal(200);
  });

  it('a read key permits GET only', async () => {
    expect((await workspace.owner.reader.get(`${workspace.path}/services`)).status).to.equal(200);
    const body = { name: 'x', kind: 'web' };
    expectError(await workspace.owner.reader.post(`${workspace.path}/services`, body), 403, 'forbidden');
  });

  it('writing takes a verified e-mail address, reading does not', async () => {
    const member = await workspace.member('developer', { verified: false });
    expect((await member.client.get(workspace.path)).status).to.equal(200);
    expectError(await member.client.post(`${workspace.path}/services`, {}), 403, 'email_unverified');
  });

  it('in a workspace that requires MFA a key whose owner has no second factor only reads', async () => {
    const strict = await api.workspace();
    const { client } = strict.owner;
    expect((await client.patch(strict.path, { configuration: { requireMfa: true } })).status).to.equal(200);
    expect((await client.get(strict.path)).status).to.equal(200);
    expectError(await client.post(`${strict.path}/services`, { name: 'x', kind: 'web' }), 403, 'mfa_required');
  });
});
