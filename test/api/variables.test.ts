import { expect } from 'chai';
import { Keyring } from '../../shared/secrets/keyring.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newEnvironment } from '../support/records.js';

describe('Variables', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path);
    path = `${workspace.path}/services/${service.id}/variables`;
  });

  it('are created encrypted; the answer is masked metadata only', async () => {
    const secret = 'postgres://user:pässwörd@host/db';
    const { status, body } = await workspace.owner.client.post(path, { key: 'DATABASE_URL', value: secret });
    expect(status).to.equal(201);
    expect(Object.keys(body.variable)).to.have.members([
      'id',
      'key',
      'kind',
      'scope',
      'configured',
      'value',
      'createdAt',
      'updatedAt',
    ]);
    expect(body.variable).to.include({ key: 'DATABASE_URL', kind: 'variable', configured: true, value: null });
    const row = await api.db('variables').where({ id: body.variable.id }).first();
    const keyring = new Keyring(api.config.secretsKey);
    expect(keyring.open(row.sealed, `variable:${row.id}`)).to.equal(secret);
    expect(row.sealed.toString('latin1')).to.not.contain('host/db');
  });

  it('reach all deployments, or those of their scope; a change without a scope keeps it', async () => {
    const send = (method: string, at: string, body: unknown) => workspace.owner.client.send(method, at, body);
    const scopes = async () =>
      Object.fromEntries((await workspace.owner.client.get(path)).body.variables.map((v: Json) => [v.key, v.scope]));
    await send('POST', path, { key: 'A', value: '1' });
    const { variable } = (await send('POST', path, { key: 'B', value: '1', scope: 'production' })).body;
    expect(variable.scope).to.equal('production');
    expect(await scopes()).to.deep.equal({ A: 'all', B: 'production' });
    await send('PATCH', `${path}/${variable.id}`, { value: '2' });
    await send('PUT', path, {
      set: [
        { key: 'A', value: '2', scope: 'preview' },
        { key: 'B', value: '3' },
      ],
    });
    expect(await scopes()).to.deep.equal({ A: 'preview', B: 'production' });
    await send('PATCH', `${path}/${variable.id}`, { value: '4', scope: 'all' });
    expect(await scopes()).to.deep.equal({ A: 'preview', B: 'all' });
    expectError(await send('POST', path, { key: 'C', value: '1', scope: 'staging' }), 400, 'invalid_request');
  });

  it('refuse a key that exists', async () => {
    await workspace.owner.client.post(path, { key: 'A', value: '1' });
    expectError(await workspace.owner.client.post(path, { key: 'A', value: '2' }), 409, 'conflict');
  });

  it('created at the same time under one key are stored once', async () => {
    const responses = await Promise.all(
      Array.from({ length: 5 }, (_, i) => workspace.owner.client.post(path, { key: 'RACE', value: String(i) })),
    );
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409]);
  });

  it('take exactly one of value and reference, a shell name as key, and at most 65536 bytes', async () => {
    const other = await newService(workspace.owner.client, workspace.path);
    const reference = { serviceId: other.id, key: 'HOST' };
    const bodies: unknown[] = [
      { key: 'A' },
      { key: 'A', value: '1', reference },
      { key: 'a-b', value: '' },
      { key: '', value: '' },
      { key: 'A'.repeat(257), value: '' },
      { key: 'A', value: 'x'.repeat(65_537) },
      { key: 'A', value: 'ü'.repeat(32_769) },
      { key: 'A', value: 1 },
      { key: '__proto__', value: 'x' },
      { key: 'A', reference: { serviceId: other.id } },
      { key: 'A', reference: { serviceId: 'x', key: 'A' } },
    ];
    for (const body of bodies) expectError(await workspace.owner.client.post(path, body), 400, 'invalid_request');
    expect((await workspace.owner.client.post(path, { key: 'A', value: 'x'.repeat(65_536) })).status).to.equal(201);
  });

  it('may refer to another service of the workspace, and only of it', async () => {
    const other = await newService(workspace.owner.client, workspace.path);
    const { body } = await workspace.owner.client.post(path, {
      key: 'API_URL',
      reference: { serviceId: other.id, key: 'URL' },
    });
    expect(body.variable).to.include({ kind: 'reference', value: null, configured: true });
    const stranger = await api.workspace();
    const foreign = await newService(stranger.owner.client, stranger.path);
    for (const serviceId of [foreign.id, service.id, '00000000-0000-4000-8000-000000000000']) {
      const response = await workspace.owner.client.post(path, { key: 'B', reference: { serviceId, key: 'URL' } });
      expectError(response, 400, 'invalid_request');
      expect(response.body.error.details[0].path).to.equal('/reference/serviceId');
    }
  });

  it('referring into a protected environment take an admin: they lend its secrets', async () => {
    const { projectId, environmentId } = await newEnvironment(api.db, workspace.id, { protected: true });
    const guarded = await newService(workspace.owner.client, workspace.path, { projectId, environmentId });
    const developer = await workspace.member('developer');
    const body = { key: 'STOLEN', reference: { serviceId: guarded.id, key: 'PASSWORD' } };
    expectError(await developer.client.post(path, body), 403, 'forbidden');
    expect((await workspace.owner.client.post(path, body)).status).to.equal(201);
    const guardedPath = `${workspace.path}/services/${guarded.id}/variables`;
    expectError(await developer.client.post(guardedPath, { key: 'A', value: '1' }), 403, 'forbidden');
  });

  it('are replaced by PATCH, value by reference and back, and stay masked', async () => {
    const { body: created } = await workspace.owner.client.post(path, { key: 'A', value: 'one' });
    const one = `${path}/${created.variable.id}`;
    const other = await newService(workspace.owner.client, workspace.path);
    const referring = await workspace.owner.client.patch(one, { reference: { serviceId: other.id, key: 'HOST' } });
    expect(referring.body.variable).to.include({ key: 'A', kind: 'reference', value: null });
    const again = await workspace.owner.client.patch(one, { value: 'two' });
    expect(again.body.variable).to.include({ id: created.variable.id, kind: 'variable', value: null });
    const row = await api.db('variables').where({ id: created.variable.id }).first();
    expect(new Keyring(api.config.secretsKey).open(row.sealed, `variable:${row.id}`)).to.equal('two');
    expectError(await workspace.owner.client.patch(one, {}), 400, 'invalid_request');
    expectError(await workspace.owner.client.patch(one, { key: 'B', value: '' }), 400, 'invalid_request');
  });

  it('are deleted once; an id of another service is not found', async () => {
    const { body } = await workspace.owner.client.post(path, { key: 'A', value: '1' });
    const other = await newService(workspace.owner.client, workspace.path);
    const elsewhere = `${workspace.path}/services/${other.id}/variables/${body.variable.id}`;
    expectError(await workspace.owner.client.delete(elsewhere), 404, 'not_found');
    expectError(await workspace.owner.client.patch(elsewhere, { value: 'x' }), 404, 'not_found');
    const one = `${path}/${body.variable.id}`;
    expect((await workspace.owner.client.delete(one)).body).to.deep.equal({ deleted: true });
    expectError(await workspace.owner.client.delete(one), 404, 'not_found');
  });

  describe('set together', () => {
    const put = (body: unknown, client = workspace.owner.client) => client.send('PUT', path, body);
    const storedOf = async (key: string) => {
      const row = await api.db('variables').where({ service_id: service.id, key }).first();
      return row && new Keyring(api.config.secretsKey).open(row.sealed, `variable:${row.id}`);
    };

    it('are created, replaced and deleted in one transaction; others stay, and absent ones are no error', async () => {
      for (const key of ['KEPT', 'OLD', 'GONE']) await workspace.owner.client.post(path, { key, value: 'before' });
      const before = await api.db('variables').where({ service_id: service.id, key: 'OLD' }).first();
      const other = await newService(workspace.owner.client, workspace.path);
      const { status, body } = await put({
        set: [
          { key: 'OLD', value: 'after' },
          { key: 'NEW', value: 'after' },
          { key: 'API_URL', reference: { serviceId: other.id, key: 'URL' } },
        ],
        unset: ['GONE', 'NEVER'],
      });
      expect(status).to.equal(200);
      expect(
        body.variables.map((variable: Json) => `${variable.key} ${variable.kind} ${variable.value}`),
      ).to.have.members(['KEPT variable null', 'OLD variable null', 'NEW variable null', 'API_URL reference null']);
      expect([await storedOf('KEPT'), await storedOf('OLD'), await storedOf('NEW')]).to.deep.equal([
        'before',
        'after',
        'after',
      ]);
      const after = await api.db('variables').where({ service_id: service.id, key: 'OLD' }).first();
      expect(after.id).to.equal(before.id);
    });

    it('follow the rules of single ones, and store nothing if one of them breaks a rule', async () => {
      const good = { key: 'GOOD', value: '1' };
      const refused: [unknown, number, string, string][] = [
        [{ set: [good, { key: 'A' }] }, 400, 'invalid_request', '/set/1/value'],
        [{ set: [good, { key: 'a-b', value: '' }] }, 400, 'invalid_request', '/set/1/key'],
        [{ set: [good, { key: 'A', value: 'ü'.repeat(32_769) }] }, 400, 'invalid_request', '/set/1/value'],
        [{ set: [good, good] }, 400, 'invalid_request', '/set/1/key'],
        [{ set: [good], unset: ['GOOD'] }, 400, 'invalid_request', '/set/0/key'],
        [
          { set: [good, { key: 'A', reference: { serviceId: service.id, key: 'URL' } }] },
          400,
          'invalid_request',
          '/set/1/reference/serviceId',
        ],
      ];
      for (const [body, status, code, at] of refused) {
        const answer = await put(body);
        expectError(answer, status, code);
        expect(answer.body.error.details[0].path).to.equal(at);
      }
      expect((await workspace.owner.client.get(path)).body.variables).to.deep.equal([]);
    });

    it('are at most 1000 and 262144 bytes, counted after the deletions', async () => {
      const many = Array.from({ length: 1000 }, (_, i) => ({ key: `K${i}`, value: '' }));
      expect((await put({ set: many })).body.variables).to.have.length(1000);
      expectError(await put({ set: [{ key: 'MORE', value: '' }] }), 409, 'conflict');
      expect((await put({ set: [{ key: 'MORE', value: '' }], unset: ['K0'] })).status).to.equal(200);
      const large = (key: string) => ({ key, value: 'x'.repeat(65_000) });
      await put({ unset: many.map(({ key }) => key) });
      expect((await put({ set: ['A', 'B', 'C'].map(large) })).status).to.equal(200);
      expect((await put({ set: [large('D')] })).status).to.equal(200);
      expectError(await put({ set: [large('E')] }), 413, 'payload_too_large');
      expect((await put({ set: [large('E')], unset: ['A'] })).status).to.equal(200);
    });

    it('with a reference into a protected environment take an admin', async () => {
      const { projectId, environmentId } = await newEnvironment(api.db, workspace.id, { protected: true });
      const guarded = await newService(workspace.owner.client, workspace.path, { projectId, environmentId });
      const developer = await workspace.member('developer');
      const body = { set: [{ key: 'STOLEN', reference: { serviceId: guarded.id, key: 'PASSWORD' } }] };
      expectError(await put(body, developer.client), 403, 'forbidden');
      expect((await put(body)).status).to.equal(200);
    });

    it('answer the same again for the same Idempotency-Key', async () => {
      const body = { set: [{ key: 'A', value: '1' }] };
      const headers = { 'Idempotency-Key': 'once' };
      const first = await workspace.owner.client.send('PUT', path, body, headers);
      const second = await workspace.owner.client.send('PUT', path, body, headers);
      expect(second.body).to.deep.equal(first.body);
      expect(second.headers.get('Idempotency-Replayed')).to.equal('true');
    });

    it('of an environment group are set in the same way', async () => {
      const groups = `${workspace.path}/environment-groups`;
      const { body } = await workspace.owner.client.post(groups, { name: 'Shared' });
      const answer = await workspace.owner.client.send('PUT', `${groups}/${body.environmentGroup.id}/variables`, {
        set: [{ key: 'A', value: '1' }],
      });
      expect(answer.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['A']);
    });
  });

  it('are listed completely without limit or cursor, else in pages, newest first', async () => {
    for (const key of ['A', 'B', 'C']) await workspace.owner.client.post(path, { key, value: key });
    const complete = await workspace.owner.client.get(path);
    expect(complete.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['C', 'B', 'A']);
    expect(complete.body.page).to.deep.include({ hasMore: false, nextCursor: null });
    const first = await workspace.owner.client.get(`${path}?limit=2`);
    expect(first.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['C', 'B']);
    const second = await workspace.owner.client.get(`${path}?cursor=${first.body.page.nextCursor}`);
    expect(second.body.variables.map((variable: Json) => variable.key)).to.deep.equal(['A']);
    expect(second.body.page).to.deep.equal({ limit: 100, hasMore: false, nextCursor: null });
  });
});
