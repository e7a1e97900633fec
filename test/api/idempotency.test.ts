import { request } from 'node:http';
import { expect } from 'chai';
import {
  type ApiResponse,
  expectError,
  newKey,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { newProject } from '../support/places.js';
import { eventually } from '../support/processes.js';

describe('Idempotency', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let services: string;

  useTestApi((given) => {
    ({ api, workspace } = given);
    services = `${workspace.path}/services`;
  });

  const keyed = (key: string) => ({ 'Idempotency-Key': key });
  const replayed = ({ headers }: ApiResponse) => headers.get('idempotency-replayed');
  const named = (name: string) => api.db('services').where({ name });

  it('without a key nothing is retained and the header is absent', async () => {
    const body = { name: 'Unkeyed', kind: 'web' };
    const response = await workspace.owner.client.post(services, body);
    expect(replayed(response)).to.equal(null);
    await workspace.owner.client.post(services, body);
    expect(await named('Unkeyed')).to.have.length(2);
  });

  it('the same key and payload replay the original status and body, not the current state', async () => {
    const first = await workspace.owner.client.post(services, { name: 'Once', kind: 'web' }, keyed('once'));
    expect([first.status, replayed(first)]).to.deep.equal([201, 'false']);
    await workspace.owner.client.patch(`${services}/${first.body.service.id}`, { name: 'Renamed' });
    const second = await workspace.owner.client.post(services, '{"kind":"web",  "name":"Once"}', keyed('once'));
    expect([second.status, replayed(second)]).to.deep.equal([201, 'true']);
    expect(second.body).to.deep.equal(first.body);
    expect(await named('Once')).to.have.length(0);
  });

  it('the same key with a changed payload is idempotency_conflict', async () => {
    await workspace.owner.client.post(services, { name: 'Changed', kind: 'web' }, keyed('changed'));
    const response = await workspace.owner.client.post(services, { name: 'Changed', kind: 'static' }, keyed('changed'));
    expectError(response, 409, 'idempotency_conflict');
  });

  it('requests at the same time with one key do the work once and all get its answer', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, () =>
        workspace.owner.client.post(services, { name: 'Stampede', kind: 'web' }, keyed('stampede')),
      ),
    );
    expect(responses.map(({ status }) => status)).to.deep.equal(Array(8).fill(201));
    expect(new Set(responses.map(({ body }) => body.service.id)).size).to.equal(1);
    expect(responses.filter((response) => replayed(response) === 'false')).to.have.length(1);
    expect(await named('Stampede')).to.have.length(1);
  });

  it('a caller who lost the answer gets it from the retry, and the work is done once', async () => {
    const body = JSON.stringify({ name: 'Lost', kind: 'web' });
    const lost = request(`${api.url}/api/v1${services}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${workspace.owner.key}`, 'Content-Type': 'application/json', ...keyed('lost') },
    });
    lost.on('error', () => undefined);
    lost.end(body);
    await eventually('the work is done', async () => (await named('Lost')).length === 1);
    lost.destroy();
    const retry = await workspace.owner.client.post(services, JSON.parse(body), keyed('lost'));
    expect(retry.status).to.equal(201);
    expect(replayed(retry)).to.equal('true');
    const [row] = await named('Lost');
    expect(retry.body.service.id).to.equal(row.id);
    expect(await named('Lost')).to.have.length(1);
  });

  it('a failure is not retained', async () => {
    const bad = await workspace.owner.client.post(services, { name: 'Retry', kind: 'nonsense' }, keyed('retry'));
    expectError(bad, 400, 'invalid_request');
    const deploying = { name: 'Retry', kind: 'web', deploy: true };
    expectError(await workspace.owner.client.post(services, deploying, keyed('retry')), 400, 'source_invalid');
    const good = await workspace.owner.client.post(services, { name: 'Retry', kind: 'web' }, keyed('retry'));
    expect([good.status, replayed(good)]).to.deep.equal([201, 'false']);
  });

  it('the scope is workspace, actor, credential, method and path', async () => {
    const body = { name: 'Scoped', kind: 'web' };
    const key = keyed('scoped');
    const first = await workspace.owner.client.post(services, body, key);
    const another = await newKey(api.db, workspace.id, workspace.owner.email, 'write');
    const other = await workspace.member('developer');
    expect(replayed(await api.client(`Bearer ${another.key}`).post(services, body, key))).to.equal('false');
    expect(replayed(await other.client.post(services, body, key))).to.equal('false');
    const path = `${services}/${first.body.service.id}`;
    expect(replayed(await workspace.owner.client.post(`${path}/archive`, {}, key))).to.equal('false');
    expect(replayed(await workspace.owner.client.post(`${path}/restore`, {}, key))).to.equal('false');
    expect(replayed(await workspace.owner.client.patch(path, {}, key))).to.equal('false');
    expect(
      replayed(await workspace.owner.client.patch(path.toUpperCase().replace(/^.*SERVICES/, services), {}, key)),
    ).to.equal('true');
  });

  it('a deletion is replayed although its service is gone', async () => {
    const service = await newService(workspace.owner.client, workspace.path, { name: 'Gone' });
    const path = `${services}/${service.id}`;
    const first = await workspace.owner.client.delete(path, { confirm: 'Gone' }, keyed('gone'));
    const second = await workspace.owner.client.delete(path, { confirm: 'Gone' }, keyed('gone'));
    expect([second.status, replayed(second)]).to.deep.equal([200, 'true']);
    expect(second.body).to.deep.equal(first.body);
  });

  it('a change of a service is made once for a key, also by requests at the same time', async () => {
    const { client } = workspace.owner;
    const service = await newService(client, workspace.path, { name: 'Before' });
    const path = `${services}/${service.id}`;
    const change = () => client.patch(path, { name: 'Keyed change' }, keyed('change'));
    const all = await Promise.all(Array.from({ length: 8 }, change));
    expect(all.map(({ status }) => status)).to.deep.equal(Array(8).fill(200));
    expect(all.filter((response) => replayed(response) === 'false')).to.have.length(1);
    expect(new Set(all.map(({ body }) => JSON.stringify(body))).size).to.equal(1);
    await client.patch(path, { name: 'Another' }, keyed('another'));
    const later = await change();
    expect([replayed(later), later.body]).to.deep.equal(['true', all[0]?.body]);
    expectError(await client.patch(path, { name: 'Other' }, keyed('change')), 409, 'idempotency_conflict');
    expect((await client.get(path)).body.service.name).to.equal('Another');
    const entries = await api.db('audit_entries').where({ target_id: service.id, operation: 'service.update' });
    expect(entries).to.have.length(2);
  });

  it('a change of a service is replayed although it would be refused now', async () => {
    const developer = await workspace.member('developer');
    const { placement } = await newProject(workspace.owner.client, workspace.path);
    const service = await newService(workspace.owner.client, workspace.path, { name: 'Guarded', ...placement });
    const change = () => developer.client.patch(`${services}/${service.id}`, { name: 'Mine' }, keyed('guarded'));
    const first = await change();
    expect([first.status, replayed(first)]).to.deep.equal([200, 'false']);
    await api.db('environments').where({ id: placement.environmentId }).update({ protected: true });
    const second = await change();
    expect([second.status, replayed(second), second.body]).to.deep.equal([200, 'true', first.body]);
    await api.db('services').where({ id: service.id }).update({ deleted_at: new Date() });
    expect([(await change()).status, replayed(await change())]).to.deep.equal([200, 'true']);
  });

  it('a key is 1 to 160 visible ASCII characters without spaces', async () => {
    const body = { name: 'Keyed', kind: 'web' };
    for (const key of ['', 'a b', 'a'.repeat(161), 'clé']) {
      const response = await workspace.owner.client.post(services, body, keyed(key));
      expectError(response, 400, 'invalid_request');
      expect(response.body.error.details[0].path).to.equal('header.Idempotency-Key');
    }
    for (const key of ['!', '~'.repeat(160), '{"a":1}']) {
      expect((await workspace.owner.client.post(services, body, keyed(key))).status).to.equal(201);
    }
  });

  it('requestId in the body must equal the key', async () => {
    const body = { name: 'Request', kind: 'web', requestId: 'r-1' };
    const response = await workspace.owner.client.post(services, body, keyed('r-2'));
    expectError(response, 400, 'invalid_request');
    expect(response.body.error.details[0].path).to.equal('/requestId');
    expect((await workspace.owner.client.post(services, body, keyed('r-1'))).status).to.equal(201);
  });

  it('a receipt is retained for 24 hours', async () => {
    const body = { name: 'Expiring', kind: 'web' };
    await workspace.owner.client.post(services, body, keyed('expiring'));
    const receipt = await api.db('receipts').where({ key: 'expiring' }).first();
    expect(receipt.expires_at.getTime() - receipt.created_at.getTime()).to.equal(24 * 3_600_000);
    await api
      .db('receipts')
      .where({ key: 'expiring' })
      .update({ expires_at: new Date(Date.now() - 1) });
    const again = await workspace.owner.client.post(services, body, keyed('expiring'));
    expect([again.status, replayed(again)]).to.deep.equal([201, 'false']);
    expect(await named('Expiring')).to.have.length(2);
  });

  it('the receipts of a workspace are bounded: beyond that its keyed writes are 429, replays and writes without a key go on', async () => {
    const { id, path, owner } = await api.workspace();
    const post = (key: string | null) =>
      owner.client.post(`${path}/services`, { name: 'Bounded', kind: 'web' }, key === null ? {} : keyed(key));
    const neighbour = await api.workspace();
    const kept = await api.db('receipts').where({ workspace_id: id });
    expect(kept).to.deep.equal([]);
    const huge = { payload_hash: '', status: 200, body: '', workspace_id: id, size: 128 * 1024 * 1024 - 1 };
    await api.db('receipts').insert({ ...huge, scope: 'x', key: 'huge', expires_at: api.db.raw(`now() + '1 hour'`) });
    expect((await post('last')).status).to.equal(201);
    const refused = await post('one-more');
    expectError(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    expect(replayed(await post('last'))).to.equal('true');
    expect((await post(null)).status).to.equal(201);
    const elsewhere = `${neighbour.path}/services`;
    expect((await neighbour.owner.client.post(elsewhere, { name: 'x', kind: 'web' }, keyed('x'))).status).to.equal(201);
  });

  it('a deployment keeps its key: once the receipt is gone the key is idempotency_legacy_conflict', async () => {
    const configuration = { repository: 'https://example.com/a.git' };
    const service = await newService(workspace.owner.client, workspace.path, { configuration });
    const deploys = `${services}/${service.id}/deploys`;
    const first = await workspace.owner.client.post(deploys, {}, keyed('deploy'));
    expect(first.status).to.equal(200);
    expect(replayed(await workspace.owner.client.post(deploys, {}, keyed('deploy')))).to.equal('true');
    const created = { name: 'Legacy', kind: 'web', configuration, deploy: true };
    await workspace.owner.client.post(services, created, keyed('create'));
    await api.db('receipts').delete();
    const second = await workspace.owner.client.post(deploys, {}, keyed('deploy'));
    expectError(second, 409, 'idempotency_legacy_conflict');
    expect(second.body.error.message).to.contain(first.body.deployment.id);
    expectError(
      await workspace.owner.client.post(services, created, keyed('create')),
      409,
      'idempotency_legacy_conflict',
    );
    expect(await named('Legacy')).to.have.length(1);
    expect(await api.db('deployments').where({ service_id: service.id })).to.have.length(1);
  });

  it('a key never opens what its sender may no longer do', async () => {
    const member = await workspace.member('developer');
    const body = { name: 'Demoted', kind: 'web' };
    await member.client.post(services, body, keyed('demoted'));
    await api.db('memberships').where({ user_id: member.userId }).update({ role: 'viewer' });
    expectError(await member.client.post(services, body, keyed('demoted')), 403, 'forbidden');
  });
});
