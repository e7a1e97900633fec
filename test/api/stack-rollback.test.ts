import { expect } from 'chai';
import {
  type ApiResponse,
  expectError,
  type Json,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';
import { pretendLive } from '../support/records.js';

const REPOSITORY = 'https://git.example.com/shop.git';

describe('A rollback of a stack', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let environmentId: string;
  const names = new Map<string, string>();

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    const { body } = await workspace.owner.client.post(`${workspace.path}/projects`, { name: 'Shop', color: 'blue' });
    environmentId = body.project.environments[0].id;
  });

  const at = (name: string) => `${workspace.path}/stacks/${name}`;
  const rollback = (name: string, applyId: string, client = workspace.owner.client): Promise<ApiResponse> =>
    client.post(`${at(name)}/rollback`, { applyId });

  /** Applies a document, as if workers had done all steps and all services were live. Returns the apply's id. */
  async function applied(name: string, port: number, kinds: Record<string, string>): Promise<string> {
    const { client } = workspace.owner;
    const services = Object.fromEntries(
      Object.entries(kinds).map(([service, kind]) => [service, { kind, repository: REPOSITORY, port }]),
    );
    const document = JSON.stringify({ services });
    const { plan } = (await client.post(`${workspace.path}/stacks/plan`, { name, document, environmentId })).body;
    for (const [service, kind] of Object.entries(kinds)) {
      if (names.has(`${name}.${service}`)) continue;
      const place = (await client.get(`${workspace.path}/projects`)).body.projects.find(({ environments }: Json) =>
        environments.some(({ id }: Json) => id === environmentId),
      );
      const made = {
        name: service,
        kind,
        projectId: place.id,
        environmentId,
        configuration: { repository: REPOSITORY },
      };
      names.set(`${name}.${service}`, (await client.post(`${workspace.path}/services`, made)).body.service.id);
    }
    const again = (await client.post(`${workspace.path}/stacks/plan`, { name, document, environmentId })).body.plan;
    expect(again.hash).not.to.equal(plan.hash);
    const body = { document, environmentId, planHash: again.hash };
    const { apply } = (await client.post(`${at(name)}/apply`, body)).body;
    for (const service of Object.keys(kinds)) await goesLive(names.get(`${name}.${service}`) ?? '');
    const ended = { status: 'succeeded', finished_at: api.db.fn.now() };
    await api.db('stack_applies').where({ id: apply.id }).update(ended);
    return apply.id;
  }

  async function goesLive(serviceId: string): Promise<void> {
    const path = `${workspace.path}/services/${serviceId}/deploys`;
    const { deployment } = (await workspace.owner.client.post(path)).body;
    const live = await pretendLive(api.db, serviceId, { went_live_at: new Date(0) });
    const { image_id } = await api.db('deployments').where({ id: live }).first();
    const now = api.db.fn.now();
    await api
      .db('deployments')
      .where({ id: deployment.id })
      .update({ status: 'live', image_id, went_live_at: now, finished_at: now });
    await api.db('services').where({ id: serviceId }).update({ live_deployment_id: deployment.id });
  }
  const steps = async (name: string, id: string) =>
    (await workspace.owner.reader.get(`${at(name)}/applies/${id}`)).body.apply.steps.map(
      ({ op, name: of }: Json) => `${op} ${of}`,
    );

  it('is an apply of its own, with a step for each service that has changed since', async () => {
    const first = await applied('changed', 3000, { web: 'web', jobs: 'worker' });
    await goesLive(names.get('changed.web') ?? '');
    const { status, body } = await rollback('changed', first.toUpperCase());
    expect(status).to.equal(200);
    expect(body.apply).to.include({ status: 'queued', release: 'together', rollbackOf: first });
    expect(await steps('changed', body.apply.id)).to.deep.equal(['service.rollback web']);
    expectError(await rollback('changed', first), 409, 'apply_running');
    const { applies } = (await workspace.owner.reader.get(`${at('changed')}/applies`)).body;
    expect(applies.map(({ id }: Json) => id)).to.deep.equal([body.apply.id, first]);
  });

  it('to what is live has succeeded at once', async () => {
    const first = await applied('same', 3000, { web: 'web' });
    expect((await rollback('same', first)).body.apply).to.include({ status: 'succeeded', rollbackOf: first });
  });

  it('is refused with the reason: an image or variables that are gone, a deleted service, an apply that failed', async () => {
    const first = await applied('refused', 3000, { web: 'web', api: 'private' });
    const [web, other] = [names.get('refused.web') ?? '', names.get('refused.api') ?? ''];
    const [then] = await api.db('services').where({ id: web }).select('live_deployment_id as id');
    for (const id of [web, other]) await goesLive(id);
    const { image_id } = await api.db('deployments').where({ id: then.id }).first();
    await api.db('images').where({ id: image_id }).update({ removed_at: new Date() });
    const gone = await rollback('refused', first);
    expectError(gone, 409, 'conflict');
    expect(gone.body.error.message).to.contain('web has no image of that release any more');
    await api.db('images').where({ id: image_id }).update({ removed_at: null });
    const { snapshot_id } = await api.db('deployments').where({ id: then.id }).first();
    await api.db('deployments').where({ id: then.id }).update({ snapshot_id: null });
    expect((await rollback('refused', first)).body.error.message).to.contain('variables of this deployment');
    await api.db('deployments').where({ id: then.id }).update({ snapshot_id });
    await api.db('stack_applies').where({ id: first }).update({ status: 'failed' });
    expect((await rollback('refused', first)).body.error.message).to.contain('it failed');
    await api.db('stack_applies').where({ id: first }).update({ status: 'succeeded' });
    await api.db('services').where({ id: other }).update({ lifecycle_status: 'deleting' });
    expect((await rollback('refused', first)).body.error.message).to.contain('api was deleted since');
  });

  it('needs an apply of the stack, and the rights to change its environment', async () => {
    const first = await applied('rights', 3000, { web: 'web' });
    expectError(await rollback('rights', workspace.id), 404, 'not_found');
    expectError(await rollback('rights', 'no id'), 400, 'invalid_request');
    expectError(await rollback('none', first), 404, 'not_found');
    expectError(await rollback('rights', first, workspace.owner.reader), 403, 'forbidden');
    await api.db('environments').where({ id: environmentId }).update({ protected: true });
    expectError(await rollback('rights', first, (await workspace.member('developer')).client), 403, 'forbidden');
  });
});
