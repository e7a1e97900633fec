import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { Keyring } from '../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import {
  type ApiResponse,
  expectError,
  type Json,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';

describe('A clone of an environment', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let project: Json;
  let at: { projectId: string; environmentId: string };

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    const { body } = await workspace.owner.client.post(`${workspace.path}/projects`, { name: 'Shop', color: 'blue' });
    project = body.project;
    at = { projectId: project.id, environmentId: project.environments[0].id };
  });
  const environments = () => `${workspace.path}/projects/${project.id}/environments`;
  const clone = (more: object = {}, client = workspace.owner.client): Promise<ApiResponse> =>
    client.post(environments(), { name: 'Staging', cloneFrom: at.environmentId, ...more });
  const service = (name: string, more: object = {}) =>
    newService(workspace.owner.client, workspace.path, { name, ...at, ...more });
  const steps = async ({ clone: { stack, apply } }: Json) => {
    const { body } = await workspace.owner.client.get(`${workspace.path}/stacks/${stack}/applies/${apply.id}`);
    return body.apply.steps.map(({ op, name }: Json) => `${op} ${name}`);
  };

  it('is made by an apply, which deploys only if it is asked to', async () => {
    const db = await service('db', { kind: 'postgres' });
    const web = await service('web', {
      configuration: { repository: 'https://git.example.com/shop.git', replicas: 2 },
    });
    const path = `${workspace.path}/services/${web.id}/variables`;
    const { client } = workspace.owner;
    await client.post(path, { key: 'DB', reference: { serviceId: db.id, key: 'URL' } });
    await client.post(path, { key: 'TOKEN', value: 'secret' });
    await client.post(`${workspace.path}/services/${web.id}/domains`, { hostname: 'shop.example.org' });

    const missing = await clone();
    expectError(missing, 400, 'invalid_request');
    expect(missing.body.error.details).to.deep.equal([
      { path: '/values/web.TOKEN', message: 'is needed: the secret has no value yet' },
    ]);
    expectError(await clone({ values: { 'web.TOKEN': 'a', 'web.OTHER': 'b' } }), 400, 'invalid_request');
    const { body: before } = await client.get(`${workspace.path}/projects/${project.id}`);
    expect(before.project.environments).to.have.length(1);

    const made = await clone({ values: { 'web.TOKEN': 'other' } });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    expect(made.body.environment).to.include({ name: 'Staging', protected: false });
    expect(made.body.clone).to.deep.include({
      stack: 'staging',
      warnings: ['web: its domains stay with the original: shop.example.org'],
    });
    expect(made.body.clone.apply.status).to.equal('queued');
    expect(await steps(made.body)).to.deep.equal(['service.create web', 'service.create db', 'variables.set web']);
    const second = await clone({ name: 'Staging two', values: { 'web.TOKEN': 'other' }, deploy: true });
    expect(await steps(second.body)).to.deep.equal([
      ...['service.create web', 'service.create db', 'variables.set web', 'service.deploy web', 'service.deploy db'],
    ]);
    expect(JSON.stringify([made.body, second.body])).not.to.contain('other');
  });

  it('asks for no value that a document says openly', async () => {
    const document =
      'services:\n  web:\n    kind: worker\n    variables: { LOG: info, KEY: { generate: 32 }, TOKEN: { secret: true } }\n' +
      'groups: { shared: { variables: { A: one } } }\n';
    const { client } = workspace.owner;
    const body = { document, environmentId: at.environmentId, values: { 'web.TOKEN': 'x' } };
    const { plan } = (await client.post(`${workspace.path}/stacks/plan`, { name: 'shop', ...body })).body;
    await client.post(`${workspace.path}/stacks/shop/apply`, { ...body, planHash: plan.hash });
    // No worker runs here, so the test makes what the apply would make.
    const web = await service('web', { kind: 'worker' });
    const [stack] = await api.db('stacks').where({ workspace_id: workspace.id, name: 'shop' }).select('id');
    await api.db('stack_resources').insert({ stack_id: stack.id, service_id: web.id, name: 'web' });
    for (const [key, value] of Object.entries({ LOG: 'info', KEY: 'x'.repeat(32), TOKEN: 'x', OWN: 'y' })) {
      await client.post(`${workspace.path}/services/${web.id}/variables`, { key, value });
    }
    const missing = await clone();
    expect(missing.body.error.details.map(({ path }: Json) => path)).to.deep.equal([
      '/values/web.OWN',
      '/values/web.TOKEN',
    ]);
    // A value that was changed by hand is not that of the document any more.
    const { variables } = (await client.get(`${workspace.path}/services/${web.id}/variables`)).body;
    const log = variables.find(({ key }: Json) => key === 'LOG');
    await client.patch(`${workspace.path}/services/${web.id}/variables/${log.id}`, { value: 'debug' });
    expect((await clone()).body.error.details.map(({ path }: Json) => path)).to.include('/values/web.LOG');
  });

  it('is refused if it cannot be whole', async () => {
    expectError(await clone({ cloneFrom: workspace.id }), 400, 'invalid_request');
    expectError(await clone({ name: project.environments[0].name }), 409, 'conflict');
    for (const option of [{ data: 'none' }, { values: {} }, { deploy: false }]) {
      const answer = await workspace.owner.client.post(environments(), { name: 'Plain', ...option });
      expect(answer.body.error.details[0].message).to.equal('is only for a clone: give cloneFrom too');
    }
    expect((await clone({ data: 'latestBackup' })).status).to.equal(201);
    await service('db', { kind: 'postgres' });
    const full = await clone({ name: 'Full', data: 'latestBackup' });
    expectError(full, 409, 'conflict');
    expect(full.body.error.message).to.contain('no verified backup with all data of db');
    await service('db', { kind: 'worker' });
    const twice = await clone({ name: 'Twice' });
    expectError(twice, 409, 'conflict');
    expect(twice.body.error.message).to.contain('Several services are named "db"');
  });

  it('has steps that fill its data by the latest verified backups', async () => {
    const { id } = await service('db', { kind: 'postgres' });
    const { environmentId } = at;
    const backup = async (fields: object) => {
      const row = { id: uuidv7(), workspace_id: workspace.id, service_id: id, trigger: 'manual', status: 'succeeded' };
      await api.db('backups').insert({ ...row, finished_at: new Date(), ...fields });
      return row.id;
    };
    const old = await backup({ created_at: new Date(Date.UTC(2026, 0, 1)) });
    await backup({ status: 'failed' });
    await backup({ deleted_at: new Date() });
    const made = await clone({ cloneFrom: environmentId, data: 'latestBackup' });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    expect(await steps(made.body)).to.deep.equal(['service.create db', 'service.deploy db', 'service.restore db']);
    const newer = await backup({});
    await clone({ name: 'Second', data: 'latestBackup' });
    const rows = await api.db('stack_applies').whereNotNull('sealed_steps').orderBy('created_at');
    const keyring = new Keyring(api.config.secretsKey);
    const restored = rows.map((row) => {
      const list = JSON.parse(openFrom(keyring, SEALED.stackSteps, row.id, row.sealed_steps));
      return list.find(({ op }: Json) => op === 'service.restore');
    });
    expect(restored.slice(-2).map(({ from, backupId }) => [from, backupId])).to.deep.equal([
      [id, old],
      [id, newer],
    ]);
  });

  it('of a protected environment needs the rights to read it', async () => {
    await workspace.owner.client.patch(`${environments()}/${at.environmentId}`, { protected: true });
    const developer = await workspace.member('developer');
    expectError(await clone({}, developer.client), 403, 'forbidden');
    const made = await clone({ protected: true });
    expect(made.body.environment.protected).to.equal(true);
    expect(made.body.clone.apply.status).to.equal('succeeded');
  });
});
