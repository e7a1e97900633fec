import { expect } from 'chai';
import { parse } from 'yaml';
import { createAjv } from '../../api/http/schema.js';
import {
  type ApiResponse,
  expectError,
  type Json,
  newService,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';

const SHOP = `
services:
  web:
    kind: web
    repository: https://git.example.com/shop.git
    variables:
      LOG: info
      DB: { reference: { service: db, key: URL } }
      TOKEN: { secret: true }
    groups: [shared]
databases:
  db: { kind: postgres }
groups:
  shared: { variables: { A: one } }
`;

describe('Stacks', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let environmentId: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    const { body } = await workspace.owner.client.post(`${workspace.path}/projects`, { name: 'Shop', color: 'blue' });
    environmentId = body.project.environments[0].id;
  });
  const place = async () => {
    const { body } = await workspace.owner.client.get(`${workspace.path}/projects`);
    const project = body.projects.find(({ environments }: Json) =>
      environments.some(({ id }: Json) => id === environmentId),
    );
    return { projectId: project.id, environmentId };
  };
  const plan = (document: string, more: object = {}, client = workspace.owner.client): Promise<ApiResponse> =>
    client.post(`${workspace.path}/stacks/plan`, { name: 'shop', document, environmentId, ...more });
  const pull = () => workspace.owner.reader.get(`${workspace.path}/environments/${environmentId}/stack`);

  describe('plans', () => {
    it('show what would be created, and store nothing', async () => {
      const { status, body } = await plan(SHOP);
      expect(status).to.equal(200);
      const { hash, changes, ...rest } = body.plan;
      expect(hash).to.match(/^[0-9a-f]{64}$/);
      expect(changes.map(({ action, kind, name }: Json) => `${action} ${kind} ${name}`)).to.deep.equal([
        ...['create group shared', 'create variable shared.A', 'create service web', 'create variable web.LOG'],
        ...['create variable web.DB', 'create variable web.TOKEN', 'create database db'],
      ]);
      expect(rest).to.deep.equal({
        ...{ destructive: false, deploys: ['web', 'db'], release: 'separate' },
        ...{ secrets: ['web.TOKEN'], warnings: [] },
      });
      expect((await plan(SHOP)).body.plan.hash).to.equal(hash);
      expect((await pull()).body.document).not.to.contain('services');
    });

    it('name the line and the column of each fault', async () => {
      const answer = await plan('services:\n  web:\n    kind: web\n    repositry: x\n');
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details).to.deep.equal([
        {
          path: '/document/services/web/repositry',
          message: 'line 4, column 5: repositry is not a known key; did you mean repository?',
        },
      ]);
      const circle = await plan(
        'services:\n  a: { kind: worker, variables: { X: { reference: { service: b, key: Y } } } }\n' +
          '  b: { kind: worker, variables: { Y: { reference: { service: a, key: X } } } }\n',
      );
      expect(circle.body.error.message).to.contain('line 2').and.contain('refers back to itself');
    });

    it('take documents of up to 1 MB, and answer 413 beyond', async () => {
      expect((await plan(`# ${'"'.repeat(999_000)}\n${SHOP}`)).status).to.equal(200);
      expectError(await plan(`# ${'x'.repeat(1_000_000)}`), 413, 'payload_too_large');
      expectError(await plan(`# ${'x'.repeat(5_000_000)}`), 413, 'payload_too_large');
      const large = await workspace.owner.client.post(`${workspace.path}/projects`, { name: 'x'.repeat(300_000) });
      expectError(large, 413, 'payload_too_large');
    });

    it('need an environment of the workspace, and the rights to change it', async () => {
      expectError(await plan(SHOP, { environmentId: undefined }), 400, 'invalid_request');
      expectError(await plan(SHOP, { environmentId: workspace.id }), 400, 'invalid_request');
      expectError(await plan(SHOP, { name: 'Not A Name' }), 400, 'invalid_request');
      expectError(await plan(SHOP, {}, workspace.owner.reader), 403, 'forbidden');
      const { projectId } = await place();
      await workspace.owner.client.patch(`${workspace.path}/projects/${projectId}/environments/${environmentId}`, {
        protected: true,
      });
      const developer = await workspace.member('developer');
      expectError(await plan(SHOP, {}, developer.client), 403, 'forbidden');
      expect((await plan(SHOP)).status).to.equal(200);
    });
  });

  describe('templates', () => {
    const TEMPLATE = { document: undefined, template: 'node-red' };

    it('are listed for everyone who is signed in, each with its questions', async () => {
      const { reader } = workspace.owner;
      const { body } = await reader.get('/templates');
      const found = body.templates.find(({ name }: Json) => name === 'node-red');
      expect(found).to.include({ title: 'Node-RED', website: 'https://nodered.org' });
      expect(found.questions.map(({ name, secret }: Json) => [name, secret])).to.deep.include([
        'node-red.ADMIN_PASSWORD',
        true,
      ]);
      const read = await reader.get('/templates/node-red');
      expect(parse(read.body.template.document).services['node-red'].repository).to.equal('starter:node@24');
      expectError(await reader.get('/templates/no-such'), 404, 'not_found');
      expectError(await api.client().get('/templates'), 401, 'unauthenticated');
    });

    it('are planned with answers, and applied by the document that the plan has filled', async () => {
      const values = { user: 'me: "x"', 'node-red.ADMIN_PASSWORD': 'very-secret' };
      const { status, body } = await plan('', { ...TEMPLATE, values });
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body.plan.deploys).to.deep.equal(['node-red']);
      expect(body.plan.secrets).to.deep.equal([]);
      expect(body.document).not.to.contain('very-secret');
      expect(parse(body.document).services['node-red'].variables.ADMIN_USER).to.equal('me: "x"');
      const again = await plan(body.document);
      expect(again.body.plan.hash).to.equal(body.plan.hash);
      expect(again.body.plan.secrets).to.deep.equal(['node-red.ADMIN_PASSWORD']);
      expect(again.body.document).to.equal(null);
    });

    it('are refused with the path of each answer that does not fit', async () => {
      const unfit = await plan('', { ...TEMPLATE, values: { sizeGb: 'x', colour: 'red' } });
      expectError(unfit, 400, 'invalid_request');
      expect(unfit.body.error.details.map(({ path }: Json) => path)).to.deep.equal([
        '/values/colour',
        '/values/sizeGb',
      ]);
      const pathOf = async (more: object) => {
        const answer = await plan('', more);
        expectError(answer, 400, 'invalid_request');
        return answer.body.error.details[0].path;
      };
      expect(await pathOf({ document: undefined })).to.equal('/document');
      expect(await pathOf({ document: SHOP, template: 'node-red' })).to.equal('/template');
      expect(await pathOf({ ...TEMPLATE, template: 'no-such' })).to.equal('/template');
      expect(await pathOf({ ...TEMPLATE, format: 'compose' })).to.equal('/format');
    });

    it('are filled without an environment', async () => {
      const path = `${workspace.path}/templates/node-red/fill`;
      const { status, body } = await workspace.owner.client.post(path, { values: { sizeGb: '3' } });
      expect(status).to.equal(200);
      expect(body.document)
        .to.match(/^# yaml-language-server: /)
        .and.contain('# Its version is in buildCommand');
      expect(parse(body.document).services['node-red'].volumes.data.sizeGb).to.equal(3);
      expectError(await workspace.owner.reader.post(path, {}), 403, 'forbidden');
    });
  });

  describe('pulled documents', () => {
    it('say what exists, without values, and their plan is empty', async () => {
      const at = await place();
      const { client } = workspace.owner;
      const db = await newService(client, workspace.path, { name: 'db', kind: 'postgres', ...at });
      const outside = await newService(client, workspace.path, { name: 'outside' });
      const web = await newService(client, workspace.path, {
        name: 'web',
        ...at,
        configuration: {
          plan: 'starter',
          repository: 'https://me:token@git.example.com/shop.git',
          replicas: 1,
          port: 3000,
        },
        variables: [{ key: 'LOG', value: 'hidden-value' }],
      });
      const path = `${workspace.path}/services/${web.id}`;
      for (const [key, serviceId] of [
        ['DB', db.id],
        ['OUT', outside.id],
      ]) {
        await client.post(`${path}/variables`, { key, reference: { serviceId, key: key === 'DB' ? 'URL' : 'HOST' } });
      }
      await client.post(`${path}/variables`, { key: 'P', value: 'hidden-value', scope: 'preview' });
      await client.post(`${path}/volumes`, { name: 'data', mountPath: '/data', sizeGb: 1 });
      await client.post(`${path}/domains`, { hostname: 'pull.example.com' });
      await client.post(`${path}/domains`, { hostname: 'old.example.com', redirectTo: 'pull.example.com' });
      const auth = { type: 'basicAuth', for: '/*' };
      const users = [{ name: 'anna', password: 'hidden-value' }];
      await client.send('PUT', `${path}/rules`, { rules: [{ ...auth, users }] });
      const group = await client.post(`${workspace.path}/environment-groups`, { name: 'shared', environmentId });
      const { id: groupId } = group.body.environmentGroup;
      await client.post(`${workspace.path}/environment-groups/${groupId}/variables`, {
        key: 'A',
        value: 'hidden-value',
      });
      await client.post(`${workspace.path}/environment-groups/${groupId}/services`, { serviceId: web.id });

      const { body } = await pull();
      expect(body.document).to.match(/^# yaml-language-server: \$schema=http.*\/api\/schemas\/stack\.json\n/);
      expect(body.document).not.to.match(/hidden-value|token/);
      expect(parse(body.document)).to.deep.equal({
        services: {
          web: {
            kind: 'web',
            plan: 'starter',
            port: 3000,
            repository: 'https://***@git.example.com/shop.git',
            variables: {
              LOG: { secret: true },
              DB: { reference: { service: 'db', key: 'URL' } },
              OUT: { reference: { serviceId: outside.id, key: 'HOST' } },
              P: { secret: true, scope: 'preview' },
            },
            volumes: { data: { mountPath: '/data', sizeGb: 1 } },
            domains: ['pull.example.com', { name: 'old.example.com', redirectTo: 'pull.example.com' }],
            rules: [{ ...auth, users: [{ name: 'anna' }] }],
            groups: ['shared'],
          },
        },
        databases: { db: { kind: 'postgres' } },
        groups: { shared: { variables: { A: { secret: true } } } },
      });
      const planned = await plan(body.document);
      expect(planned.body.plan.changes).to.deep.equal([]);
      expect(planned.body.plan.secrets).to.deep.equal([]);
      // This document has the stored values.
      const same = body.document.replace('LOG:\n        secret: true', 'LOG: hidden-value');
      expect((await plan(same)).body.plan.changes).to.deep.equal([]);
      const other = await plan(same.replace('hidden-value', 'another'));
      expect(other.body.plan.changes).to.deep.equal([
        { action: 'update', kind: 'variable', name: 'web.LOG', fields: [{ path: '/value', from: '***', to: '***' }] },
      ]);
      const moved = await plan(body.document.replace('pull.example.com', 'other.example.com'));
      expect(moved.body.plan.destructive).to.equal(true);
    });

    it('are of environments of the workspace only', async () => {
      expectError(
        await workspace.owner.client.get(`${workspace.path}/environments/${workspace.id}/stack`),
        404,
        'not_found',
      );
    });
  });

  describe('applies', () => {
    let count = 0;
    let name: string;
    beforeEach(() => {
      name = `shop-${++count}`;
    });
    const seen = async (document: string, more: object = {}): Promise<Json> =>
      (await plan(document, { name, ...more })).body.plan;
    const apply = async (document: string, more: object = {}): Promise<ApiResponse> =>
      workspace.owner.client.post(`${workspace.path}/stacks/${name}/apply`, {
        document,
        environmentId,
        planHash: (await seen(document)).hash,
        ...more,
      });
    const TOKEN = { values: { 'web.TOKEN': 'a-secret-token' } };
    const read = async (path = ''): Promise<ApiResponse> =>
      workspace.owner.reader.get(`${workspace.path}/stacks/${name}${path}`);
    const cancel = (id: string) => workspace.owner.client.post(`${workspace.path}/stacks/${name}/applies/${id}/cancel`);
    const remove = (body: object) => workspace.owner.client.delete(`${workspace.path}/stacks/${name}`, body);

    it('are queued with their steps, and show no values', async () => {
      const wakes = api.wakes();
      const { status, body } = await apply(SHOP, TOKEN);
      expect(status).to.equal(200);
      expect(body.apply).to.deep.include({
        status: 'queued',
        error: '',
        actor: workspace.owner.email,
        finishedAt: null,
      });
      expect(api.wakes()).to.equal(wakes + 1);
      const detail = (await read(`/applies/${body.apply.id}`)).body.apply;
      expect(detail.steps.map(({ op, name: each, status: of }: Json) => `${op} ${each} ${of}`)).to.deep.equal([
        ...['group.create shared pending', 'service.create web pending', 'service.create db pending'],
        ...['variables.set shared pending', 'variables.set web pending', 'groups.link web pending'],
        ...['service.deploy web pending', 'service.deploy db pending'],
      ]);
      expect(detail.deploys).to.deep.equal(['web', 'db']);
      expect(JSON.stringify(detail)).not.to.match(/a-secret-token|info/);
      const { stack } = (await read()).body;
      expect(stack).to.deep.include({ name, environmentId, resources: [], warnings: [] });
      expect(stack.lastApply.id).to.equal(body.apply.id);
      expect(stack.drift.map(({ name: each }: Json) => each)).to.include.members(['web', 'db', 'web.LOG']);
      const stored = await api.db('stacks').where({ name }).first();
      expect(stored.sealed_document.toString('latin1')).not.to.contain('git.example.com');
    });

    it('need the hash of the plan that is still true: 409 plan_changed', async () => {
      expectError(await apply(SHOP, { ...TOKEN, planHash: 'f'.repeat(64) }), 409, 'plan_changed');
      const { hash } = await seen(SHOP);
      expectError(await apply(SHOP.replace('info', 'debug'), { ...TOKEN, planHash: hash }), 409, 'plan_changed');
      await newService(workspace.owner.client, workspace.path, { name: 'web', ...(await place()) });
      expectError(await apply(SHOP, { ...TOKEN, planHash: hash }), 409, 'plan_changed');
      expectError(await read(), 404, 'not_found');
    });

    it('need a value for each new secret, and take no other values', async () => {
      const missing = await apply(SHOP);
      expectError(missing, 400, 'invalid_request');
      expect(missing.body.error.details[0].path).to.equal('/values/web.TOKEN');
      const unknown = await apply(SHOP, { values: { 'web.TOKEN': 'x', 'web.LOG': 'y' } });
      expectError(unknown, 400, 'invalid_request');
      expect(unknown.body.error.details[0].path).to.equal('/values/web.LOG');
    });

    it('of a stack are one at a time: 409 apply_running, until it ends or is cancelled', async () => {
      const first = (await apply(SHOP, TOKEN)).body.apply;
      expectError(await apply(SHOP, TOKEN), 409, 'apply_running');
      expectError(await remove({ confirm: name }), 409, 'apply_running');
      expectError(await remove({ confirm: name, keep: true }), 409, 'apply_running');
      expect((await cancel(first.id)).body.apply).to.deep.include({ id: first.id, status: 'cancelled' });
      expectError(await cancel(first.id), 409, 'conflict');
      expect((await apply(SHOP, TOKEN)).status).to.equal(200);
    });

    it('that delete something must confirm it with the name of the stack', async () => {
      const at = await place();
      const web = await newService(workspace.owner.client, workspace.path, { name: 'web', kind: 'worker', ...at });
      await workspace.owner.client.post(`${workspace.path}/services/${web.id}/variables`, { key: 'X', value: 'x' });
      const document = 'services:\n  web: { kind: worker }\n';
      const planned = await seen(document);
      expect(planned).to.deep.include({ destructive: true, deploys: [] });
      expect(planned.warnings[0]).to.equal('web was not made by a stack; from now on it belongs to this one');
      expectError(await apply(document), 400, 'invalid_confirmation');
      expectError(await apply(document, { confirmDestructive: 'other' }), 400, 'invalid_confirmation');
      expect((await apply(document, { confirmDestructive: name })).status).to.equal(200);
      expect((await read()).body.stack.resources).to.deep.equal([{ kind: 'service', id: web.id, name: 'web' }]);
    });

    it('that change nothing have succeeded at once; the service is then taken: 409 owned_elsewhere', async () => {
      const at = await place();
      await newService(workspace.owner.client, workspace.path, { name: 'web', kind: 'worker', ...at });
      const document = 'services:\n  web: { kind: worker }\n';
      const { apply: done } = (await apply(document)).body;
      expect(done.status).to.equal('succeeded');
      expect(done.finishedAt).to.be.a('string');
      expectError(await plan(document, { name: 'another' }), 409, 'owned_elsewhere');
      expect((await read()).body.stack.drift).to.deep.equal([]);
      const { services } = (await workspace.owner.client.get(`${workspace.path}/services`)).body;
      const web = services.find(({ environmentId: id }: Json) => id === environmentId);
      await workspace.owner.client.patch(`${workspace.path}/services/${web.id}`, { configuration: { port: 3000 } });
      expect((await read()).body.stack.drift).to.deep.equal([
        { action: 'update', kind: 'service', name: 'web', fields: [{ path: '/port', from: 3000, to: 8000 }] },
      ]);
      const other = (await workspace.owner.client.post(`${workspace.path}/projects`, { name: 'O', color: 'red' })).body;
      const elsewhere = await plan(document, { name, environmentId: other.project.environments[0].id });
      expectError(elsewhere, 409, 'conflict');
      expect((await plan(document, { name, environmentId: undefined })).status).to.equal(200);

      expectError(await remove({ confirm: 'x', keep: true }), 400, 'invalid_confirmation');
      expect((await remove({ confirm: name, keep: true })).body).to.deep.equal({ deleted: true, apply: null });
      expectError(await read(), 404, 'not_found');
      expect((await plan(document, { name: 'another' })).status).to.equal(200);
    });

    it('delete what the stack owns with the stack', async () => {
      await newService(workspace.owner.client, workspace.path, { name: 'web', kind: 'worker', ...(await place()) });
      await apply('services:\n  web: { kind: worker }\n');
      const { deleted, apply: deletion } = (await remove({ confirm: name })).body;
      expect(deleted).to.equal(false);
      const { steps } = (await read(`/applies/${deletion.id}`)).body.apply;
      expect(steps.map(({ op, name: each }: Json) => `${op} ${each}`)).to.deep.equal([
        'service.delete web',
        'stack.delete ',
      ]);
    });

    it('are done once for one Idempotency-Key', async () => {
      const { hash } = await seen(SHOP);
      const body = { document: SHOP, environmentId, planHash: hash, ...TOKEN };
      const send = () =>
        workspace.owner.client.post(`${workspace.path}/stacks/${name}/apply`, body, {
          'Idempotency-Key': `key-${name}`,
        });
      const [first, second] = [await send(), await send()];
      expect(second.body).to.deep.equal(first.body);
      expect(second.headers.get('idempotency-replayed')).to.equal('true');
    });

    it('are listed with their stacks, page by page', async () => {
      await apply(SHOP, TOKEN);
      const { body } = await workspace.owner.reader.get(`${workspace.path}/stacks?limit=1`);
      expect(body.stacks.map((stack: Json) => stack.name)).to.deep.equal([name]);
      expect(body.stacks[0].lastApply.status).to.equal('queued');
      expect(body.page.hasMore).to.equal(true);
    });

    it('of names that no stack can have are not found', async () => {
      for (const path of ['Shop', 'a%20b', '-', 'x'.repeat(64)]) {
        expectError(await workspace.owner.client.get(`${workspace.path}/stacks/${path}`), 404, 'not_found');
      }
    });
  });

  it('are made of a docker-compose.yml, which a plan takes too', async () => {
    const compose = 'services:\n  web: { image: nginx, ports: ["80:80"], privileged: true }\n';
    const { client } = workspace.owner;
    const { status, body } = await client.post(`${workspace.path}/stacks/import`, {
      format: 'compose',
      document: compose,
    });
    expect(status).to.equal(200);
    expect(parse(body.document)).to.deep.equal({
      services: { web: { kind: 'web', port: 80, sourceType: 'image', image: 'nginx' } },
    });
    const lost = 'services.web.privileged: services have no rights on the host';
    expect(body.lost).to.deep.equal([lost]);
    const planned = (await plan(compose, { format: 'compose' })).body.plan;
    expect(planned.deploys).to.deep.equal(['web']);
    expect(planned.warnings).to.deep.equal([lost]);
    const broken = await client.post(`${workspace.path}/stacks/import`, { format: 'compose', document: 'a: [' });
    expectError(broken, 400, 'invalid_request');
    expect(broken.body.error.message).to.contain('line 1');
  });

  it('are made of files of other platforms, which a plan takes too', async () => {
    const files = {
      render: 'services: [{ type: web, name: web, image: { url: nginx } }]',
      heroku: '{ "name": "web" }\nweb: npm start\n',
      fly: 'app = "web"\n[build]\nimage = "nginx"\n',
      railway: '{ "deploy": { "healthcheckPath": "/" } }',
      kamal: 'service: web\n',
    };
    for (const [format, document] of Object.entries(files)) {
      const body = { format, document, repository: 'https://git.example.com/web.git', folder: 'app' };
      const imported = await workspace.owner.client.post(`${workspace.path}/stacks/import`, body);
      expect(imported.status, format).to.equal(200);
      expect(Object.keys(parse(imported.body.document).services), format).to.deep.equal(['web']);
      expect((await plan(imported.body.document)).status, format).to.equal(200);
      expect((await plan(document, { format })).status, format).to.equal(200);
      for (const broken of ['\u0000', '{', ': [', '"']) {
        const answer = await workspace.owner.client.post(`${workspace.path}/stacks/import`, {
          format,
          document: broken,
        });
        expect(answer.status, `${format} ${broken}`).to.be.oneOf([200, 400]);
      }
    }
  });

  it('have a schema for editors, which accepts what is pulled', async () => {
    const answer = await fetch(`${api.url}/api/schemas/stack.json`);
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('content-type')).to.contain('application/json');
    const { $schema, ...schema } = (await answer.json()) as Json;
    expect($schema).to.contain('json-schema.org');
    expect(schema.properties.services.additionalProperties.properties.port.description).to.contain('listens');
    expect(JSON.stringify(schema)).not.to.contain('"$id"');
    const validate = createAjv().compile(schema);
    expect(validate(parse(SHOP)), JSON.stringify(validate.errors)).to.equal(true);
    expect(validate({ services: { web: { kind: 'web', prt: 1 } } })).to.equal(false);
  });
});
