import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { createLogger } from '../../shared/core/log.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { eraseService } from '../../shared/lifecycle/store.js';
import { previewForBranch } from '../../shared/pulls/preview-commands.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { ingestLogs } from '../../workers/logs/ingest-batches.js';
import { reapPreviews } from '../../workers/sweeps/reap-previews.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newEnvironment, snapshotValues } from '../support/records.js';

const HOUR = 3_600_000;
const CONFIGURATION = { repository: 'https://example.com/shop.git', previewMode: 'manual' };

describe('Previews', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let base: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    base = await newService(workspace.owner.client, workspace.path, { name: 'Shop', configuration: CONFIGURATION });
    path = `${workspace.path}/services/${base.id}/previews`;
  });
  const add = (branch: string, at = path) => workspace.owner.client.post(at, { branch });
  const made = async (branch = 'topic'): Promise<Json> => (await add(branch)).body.preview;
  const serviceAt = (id: string) => `${workspace.path}/services/${id}`;
  const change = (configuration: object, id = base.id) =>
    workspace.owner.client.patch(serviceAt(id), { configuration });
  const reap = () =>
    reapPreviews({ db: api.db, dispatcher: { wake: () => undefined } as never, log: createLogger('test', 'silent') });
  const age = (id: string, hours: number) =>
    api
      .db('previews')
      .where({ service_id: id })
      .update({ changed_at: new Date(Date.now() - hours * HOUR) });

  /** Marks a service's deployments as building, so that its deletion is queued and not done at once. */
  const building = (serviceId: string) =>
    api
      .db('deployments')
      .where({ service_id: serviceId })
      .update({ status: 'building', admitted_at: new Date(), fence: 1, worker_id: uuidv7() });

  async function newest(serviceId: string): Promise<{ deployment: DeploymentRow; values: Record<string, string> }> {
    const deployment: DeploymentRow = await api
      .db('deployments')
      .where({ service_id: serviceId })
      .orderBy('number', 'desc')
      .first();
    return { deployment, values: await snapshotValues(api.db, new Keyring(api.config.secretsKey), deployment) };
  }

  it('are services of their own, which are read by their id and not listed among those of the workspace', async () => {
    const { status, body } = await add('feature/basket');
    expect(status).to.equal(201);
    const { id, serviceId, url, createdAt, expiresAt, ...rest } = body.preview;
    expect(rest).to.deep.equal({ branch: 'feature/basket', pullRequest: null, status: 'deploying', databases: [] });
    expect(url).not.to.equal(base.url);
    expect(new URL(url).hostname).to.match(/^shop-feature-basket/);
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.be.within(72 * HOUR - 60_000, 72 * HOUR + 60_000);
    expect((await workspace.owner.client.get(path)).body).to.deep.include({ previews: [body.preview] });
    expect((await workspace.owner.client.get(`${path}/${id}`)).body).to.deep.equal(body);

    const { service } = (await workspace.owner.client.get(serviceAt(serviceId))).body;
    expect(service).to.include({ kind: 'web', url, projectId: base.projectId });
    expect(service.configuration).to.include({ repository: CONFIGURATION.repository, branch: 'feature/basket' });
    const listed = (await workspace.owner.client.get(`${workspace.path}/services`)).body.services;
    expect(listed.map((each: Json) => each.id))
      .to.include(base.id)
      .and.not.include(serviceId);
    const { nodes } = (await workspace.owner.client.get(`${workspace.path}/canvas`)).body;
    expect(nodes.map((each: Json) => each.id))
      .to.include(base.id)
      .and.not.include(serviceId);
    const { capabilities } = (await workspace.owner.client.get('/catalog')).body;
    expect(capabilities.previews).to.equal(true);
  });

  it('are refused with what to do', async () => {
    const refused = async (branch: string, word: string, at = path) => {
      const answer = await add(branch, at);
      expectError(answer, 409, 'conflict');
      expect(answer.body.error.message).to.include(word);
    };
    await refused('main', 'deploy the service instead');
    const preview = await made();
    await refused('topic', preview.id);
    await refused('other', 'is a preview itself', `${serviceAt(preview.serviceId)}/previews`);
    await change({ previewMode: 'off' });
    await refused('other', 'set previewMode');
    const worker = { kind: 'worker', configuration: CONFIGURATION };
    const { id } = await newService(workspace.owner.client, workspace.path, worker);
    await refused('topic', 'kind worker', `${serviceAt(id)}/previews`);
    expectError(await add('a..b'), 400, 'invalid_request');
    expectError(await add('topic', `${serviceAt(uuidv7())}/previews`), 404, 'not_found');
    expectError(await workspace.owner.client.get(`${path}/${uuidv7()}`), 404, 'not_found');
    expectError(await workspace.owner.client.post(path, {}), 400, 'invalid_request');
  });

  it('of one branch are made once, also by two at the same time', async () => {
    const answers = await Promise.all([add('race'), add('race'), add('race')]);
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409]);
  });

  it('count as services of the workspace, and are bounded for each service', async () => {
    const { path: at, owner } = await api.workspace();
    const limited = await newService(owner.client, at, { configuration: CONFIGURATION });
    const previews = `${at}/services/${limited.id}/previews`;
    const used = async () => (await owner.client.get(at)).body.workspace.entitlements.services.used;
    expect(await used()).to.equal(1);
    const first = (await owner.client.post(previews, { branch: 'first' })).body.preview;
    expect(await used()).to.equal(2);
    const rows = Array.from({ length: 19 }, (_, i) => ({ service_id: uuidv7(), base_id: limited.id, branch: `b${i}` }));
    const service = await api.db('services').where({ id: first.serviceId }).first();
    for (const { service_id: next } of rows) {
      const { user_number: _, ...copy } = service;
      await api.db('services').insert({ ...copy, id: next, slug: next });
    }
    await api.db('previews').insert(rows);
    expectError(await owner.client.post(previews, { branch: 'one more' }), 400, 'invalid_request');
    expectError(await owner.client.post(previews, { branch: 'one-more' }), 409, 'capacity_exceeded');
  });

  it('have the variables of their service by scope, and its groups', async () => {
    const { path: at } = workspace;
    const variables = `${serviceAt(base.id)}/variables`;
    await workspace.owner.client.send('PUT', variables, {
      set: [
        { key: 'BOTH', value: 'both' },
        { key: 'LIVE', value: 'live', scope: 'production' },
        { key: 'TRIAL', value: 'trial', scope: 'preview' },
        { key: 'DATABASE', value: 'real', scope: 'production' },
      ],
    });
    const { environmentGroup } = (
      await workspace.owner.client.post(`${at}/environment-groups`, { name: 'For previews' })
    ).body;
    const group = `${at}/environment-groups/${environmentGroup.id}`;
    await workspace.owner.client.post(`${group}/variables`, { key: 'DATABASE', value: 'copy', scope: 'preview' });
    await workspace.owner.client.post(`${group}/services`, { serviceId: base.id });

    const preview = await made();
    expect((await newest(preview.serviceId)).values).to.include({ BOTH: 'both', TRIAL: 'trial' });
    expect((await newest(preview.serviceId)).values).not.to.have.any.keys('LIVE');
    await workspace.owner.client.post(`${serviceAt(base.id)}/deploys`);
    expect((await newest(base.id)).values).to.deep.equal({ BOTH: 'both', LIVE: 'live', DATABASE: 'real' });

    const own = await workspace.owner.client.post(`${serviceAt(preview.serviceId)}/variables`, {
      key: 'A',
      value: '1',
    });
    expectError(own, 409, 'conflict');
    expect(own.body.error.message).to.include(base.id);
  });

  it('get the configuration of their service with their next deployment', async () => {
    const preview = await made();
    expectError(await change({ port: 4000 }, preview.serviceId), 409, 'conflict');
    await change({ port: 4000, buildCommand: 'make', repository: 'https://user:secret@example.com/new.git' });
    await workspace.owner.client.post(`${serviceAt(base.id)}/variables`, { key: 'NEW', value: 'new' });
    const other = await workspace.owner.client.post(`${serviceAt(preview.serviceId)}/deploys`, { branch: 'other' });
    expectError(other, 409, 'conflict');
    await age(preview.id, 71);
    const queued = await workspace.owner.client.post(`${serviceAt(preview.serviceId)}/deploys`);
    expect(queued.status).to.equal(200);
    const { deployment, values } = await newest(preview.serviceId);
    expect(deployment.configuration).to.include({ port: 4000, buildCommand: 'make', branch: 'topic' });
    expect(values).to.deep.equal({ NEW: 'new' });
    const { sealed_repository: sealed } = deployment;
    const keyring = new Keyring(api.config.secretsKey);
    expect(sealed && openFrom(keyring, SEALED.deploymentRepository, deployment.id, sealed)).to.include('user:secret');
    const { expiresAt } = (await workspace.owner.client.get(`${path}/${preview.id}`)).body.preview;
    expect(Date.parse(expiresAt)).to.be.greaterThan(Date.now() + 71 * HOUR);
  });

  it('are deleted previewExpiryHours after their last change', async () => {
    const [old, young] = [await made('old'), await made('young')];
    await api
      .db('deployments')
      .whereIn('service_id', [old.id, young.id])
      .update({ status: 'failed', finished_at: new Date() });
    await age(old.id, 73);
    await age(young.id, 71);
    expect((await reap()).join()).to.include('shop-old');
    const left = (await workspace.owner.client.get(path)).body.previews;
    expect(left.map((each: Json) => each.branch)).to.deep.equal(['young']);
    await change({ previewExpiryHours: 1 });
    await reap();
    expect((await workspace.owner.client.get(path)).body.previews).to.deep.equal([]);
    expectError(await workspace.owner.client.get(serviceAt(old.serviceId)), 404, 'not_found');
    expect(await api.db('previews').where({ base_id: base.id })).to.deep.equal([]);
    expect((await add('old')).status, 'the branch can have a preview again').to.equal(201);
  });

  it('end when previewMode is switched off, and when their service is deleted', async () => {
    const end = async (cause: () => Promise<unknown>) => {
      const { serviceId } = await made();
      await building(serviceId);
      expect(await reap(), 'before').to.deep.equal([]);
      await cause();
      await reap();
      const service = await api.db('services').where({ id: serviceId }).first();
      expect(service).to.include({ lifecycle_status: 'deleting' });
      expect(await reap(), 'twice').to.deep.equal([]);
      const operations = await api.db('operations').where({ service_id: serviceId, kind: 'delete' });
      expect(operations).to.have.length(1);
      return serviceId;
    };
    const first = await end(() => change({ previewMode: 'off' }));
    await api
      .db('operations')
      .where({ service_id: first })
      .update({ status: 'failed', finished_at: new Date(Date.now() - 120_000), due_at: null });
    expect((await reap()).join(), 'after a failure').to.include('tried again');
    await api.db.transaction((trx) => eraseService(trx, first));
    await change({ previewMode: 'manual' });
    await end(() => api.db.transaction((trx) => eraseService(trx, base.id)));
  });

  it('are deleted by request, and by those who may change the service', async () => {
    const { projectId, environmentId } = await newEnvironment(api.db, workspace.id);
    const place = { projectId, environmentId };
    const preview = await made();
    await building(preview.serviceId);
    await workspace.owner.client.patch(serviceAt(base.id), place);
    const moved = (await workspace.owner.client.get(serviceAt(preview.serviceId))).body.service;
    expect(moved, 'it moves with its service').to.include(place);
    await api.db('environments').where({ id: environmentId }).update({ protected: true });
    const developer = await workspace.member('developer');
    expectError(await developer.client.post(path, { branch: 'theirs' }), 403, 'forbidden');
    expectError(await developer.client.delete(`${path}/${preview.id}`), 403, 'forbidden');
    const { status, body } = await workspace.owner.client.delete(`${path}/${preview.id}`);
    expect({ status, ...body, operation: body.operation.kind }).to.deep.equal({
      status: 200,
      deleted: false,
      queued: true,
      operation: 'delete',
    });
    expect((await workspace.owner.client.get(`${path}/${preview.id}`)).body.preview.status).to.equal('deleting');
    expectError(await workspace.owner.client.delete(`${path}/${preview.id}`), 409, 'conflict');
  });

  describe('with databases', () => {
    let database: Json;
    beforeEach(async () => {
      database = await newService(workspace.owner.client, workspace.path, { name: 'db', kind: 'postgres' });
      await workspace.owner.client.post(`${serviceAt(base.id)}/variables`, {
        ...{ key: 'DB', reference: { serviceId: database.id, key: 'URL' } },
      });
    });
    const use = (previewDatabases: string) => change({ previewDatabases });
    const references = async (serviceId: string) => {
      const deployment = await api.db('deployments').where({ service_id: serviceId }).orderBy('number', 'desc').first();
      return (await api.db('snapshots').where({ id: deployment.snapshot_id }).first()).data_references;
    };

    it('share those of their service unless they have none', async () => {
      const shared = await made('one');
      expect(await references(shared.serviceId)).to.deep.equal({ DB: { serviceId: database.id, key: 'URL' } });
      await use('none');
      const none = await made('two');
      expect(await references(none.serviceId)).to.deep.equal({});
      expectError(await use('mine'), 400, 'invalid_request');
    });

    it('have own ones, which begin with the latest verified backup and end with them', async () => {
      const backupId = uuidv7();
      const backup = { id: backupId, workspace_id: workspace.id, service_id: database.id, trigger: 'manual' };
      await api.db('backups').insert({ ...backup, status: 'succeeded', finished_at: new Date() });
      await use('own');
      const { id, serviceId, databases } = await made();
      expect(databases).to.have.length(1);
      const [own] = databases;
      expect(own).to.deep.equal({ serviceId: own.serviceId, originalId: database.id, backupId, error: '' });
      expect(await references(serviceId)).to.deep.equal({ DB: { serviceId: own.serviceId, key: 'URL' } });
      const restores = await api.db('operations').where({ kind: 'restore', service_id: own.serviceId });
      expect(restores.map((row) => row.backup_id)).to.deep.equal([backupId]);
      const listed = (await workspace.owner.client.get(`${workspace.path}/services`)).body.services;
      expect(listed.map((each: Json) => each.id)).not.to.include(own.serviceId);

      const ended = { finished_at: new Date(), due_at: null };
      await api
        .db('operations')
        .where({ service_id: own.serviceId })
        .update({ ...ended, status: 'failed', error: 'lost' });
      const read = async () => (await workspace.owner.client.get(`${path}/${id}`)).body.preview.databases;
      expect((await read())[0].error).to.equal('lost');
      // A further deployment uses the same database.
      expect((await workspace.owner.client.post(`${serviceAt(serviceId)}/deploys`, {})).status).to.equal(200);
      expect(await read()).to.have.length(1);

      await reap();
      expect(await read()).to.have.length(1);
      await api.db.transaction((trx) => eraseService(trx, serviceId));
      expect((await reap()).join()).to.contain('deleted the database');
      expect((await workspace.owner.client.get(serviceAt(own.serviceId))).status).to.equal(404);
      expect(await api.db('preview_databases')).to.deep.equal([]);
      expect((await workspace.owner.client.get(serviceAt(database.id))).status).to.equal(200);
    });

    it('begin empty without a verified backup, and say so', async () => {
      await use('own');
      const { databases } = await made();
      expect(databases).to.have.length(1);
      expect(databases[0].backupId).to.equal(null);
    });
  });

  it('are no providers of references', async () => {
    const preview = await made();
    const reference = { serviceId: preview.serviceId, key: 'URL' };
    const refused = await workspace.owner.client.post(`${serviceAt(base.id)}/variables`, { key: 'A', reference });
    expectError(refused, 400, 'invalid_request');
  });

  it('of a branch follow its commits; previewMode "automatic" makes them', async () => {
    const { config } = api;
    const deps = { config, keyring: new Keyring(config.secretsKey) };
    const commit = (branch: string, commitSha: string) =>
      api.db.transaction((trx) =>
        previewForBranch(trx, deps, {
          ...{ workspaceId: workspace.id, baseId: base.id, branch, commitSha },
          ...{ actor: 'hook', authorize: () => undefined },
        }),
      );
    const [one, two] = ['1'.repeat(40), '2'.repeat(40)];
    expect(await commit('topic', one), 'manual').to.equal(null);
    await change({ previewMode: 'automatic' });
    expect(await commit('main', one), 'its own branch').to.equal(null);
    const first = await commit('topic', one);
    expect(first).to.include({ trigger: 'commit', branch: 'topic', commit_sha: one });
    const second = await commit('topic', two);
    expect(second).to.include({ service_id: first?.service_id, commit_sha: two });
    await change({ previewMode: 'manual' });
    expect(await commit('topic', one), 'follows on').to.include({ service_id: first?.service_id });
    expect((await workspace.owner.client.get(path)).body.previews).to.have.length(1);
  });

  it('have logs that includePreviewLogs leaves out, unless the deployment is asked for', async () => {
    const { serviceId } = await made();
    const { deployment } = await newest(serviceId);
    const read = async (query = '') =>
      (await workspace.owner.client.get(`${serviceAt(serviceId)}/logs${query}`)).body.items.map((l: Json) => l.message);
    const lines = [{ level: 'info' as const, message: 'of the preview', timestamp: new Date().toISOString() }];
    await insertLogBatches(api.db, [{ serviceId, deploymentId: deployment.id, source: 'runtime', lines }]);
    await ingestLogs(api.db, serviceId);
    expect(await read()).to.deep.equal(['of the preview']);
    await workspace.owner.client.patch(workspace.path, { configuration: { includePreviewLogs: false } });
    expect(await read()).to.deep.equal([]);
    expect(await read(`?deploymentId=${deployment.id}`)).to.deep.equal(['of the preview']);
    await workspace.owner.client.patch(workspace.path, { configuration: { includePreviewLogs: true } });
  });
});
