import { expect } from 'chai';
import { configureWorkspace } from '../../shared/identity/commands.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { planOf } from '../../shared/services/plan-catalog.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { endedBuild, newDeployment, pretendLive } from '../support/records.js';

const REPOSITORY = 'https://example.com/shop.git';
const MINUTE_MS = 60_000;

describe('Billing and entitlements', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
  });

  const configure = (changes: Json) =>
    api.db.transaction((trx) => configureWorkspace(trx, workspace.id, { currency: 'USD', ...changes }));
  const create = (configuration: Json = {}, fields: Json = {}) =>
    newService(workspace.owner.client, workspace.path, {
      configuration: { repository: REPOSITORY, ...configuration },
      ...fields,
    });
  const deploy = (service: Json) => workspace.owner.client.post(`${workspace.path}/services/${service.id}/deploys`);
  const read = async (): Promise<Json> => (await workspace.owner.reader.get(workspace.path)).body.workspace;
  const deploymentsOf = (service: Json) => api.db('deployments').where({ service_id: service.id });

  const built = (service: Json, minutes: number, end = new Date()) =>
    endedBuild(api.db, service.id, new Date(end.getTime() - minutes * MINUTE_MS), end);

  describe('the workspace', () => {
    it('shows nothing used and no budget at first', async () => {
      const { billing, entitlements } = await read();
      expect(billing).to.deep.equal({
        currency: 'USD',
        budget: 0,
        allowOverages: false,
        estimatedMonthly: 0,
        budgetUsedPercent: null,
        alerts: [],
      });
      const { workspaceLimit, buildMinutes, logDays } = planOf('free');
      expect(entitlements).to.deep.equal({
        services: { used: 0, limit: workspaceLimit },
        buildMinutes: { used: 0, limit: buildMinutes },
        buildConcurrency: 1,
        logDays,
      });
    });

    it('shows the estimated cost of its services in its currency, and the share of the budget', async () => {
      await configure({ budget: 40 });
      const two = await create({ plan: 'starter', replicas: 2 });
      const database = await newService(workspace.owner.client, workspace.path, {
        kind: 'postgres',
        configuration: { plan: 'starter' },
      });
      await create();
      expect(two.estimatedMonthly.usd + database.estimatedMonthly.usd).to.equal(24);
      expect((await read()).billing).to.include({ estimatedMonthly: 24, budgetUsedPercent: 60 });
      await configure({ currency: 'NGN', budget: 75_000 });
      expect((await read()).billing).to.include({ currency: 'NGN', estimatedMonthly: 37_500, budgetUsedPercent: 50 });
    });

    it('shows which alerts of this month were sent', async () => {
      const sentAt = new Date();
      const month = sentAt.toISOString().slice(0, 8).concat('01');
      await api.db('budget_alerts').insert([
        { workspace_id: workspace.id, month: '2020-01-01', threshold: 80, sent_at: sentAt },
        { workspace_id: workspace.id, month, threshold: 100 },
        { workspace_id: workspace.id, month, threshold: 80, sent_at: sentAt },
      ]);
      expect((await read()).billing.alerts).to.deep.equal([
        { threshold: 80, sentAt: sentAt.toISOString() },
        { threshold: 100, sentAt: null },
      ]);
    });

    it('leaves out what is archived or deleted, but not what is archived and still runs', async () => {
      const { client } = workspace.owner;
      const [archived, deleted, running] = [
        await create({ plan: 'starter' }),
        await create({ plan: 'standard' }),
        await create({ plan: 'pro' }),
      ];
      await pretendLive(api.db, running.id);
      expect((await read()).billing.estimatedMonthly).to.equal(7 + 25 + 85);
      await client.post(`${workspace.path}/services/${archived.id}/archive`);
      await client.delete(`${workspace.path}/services/${deleted.id}`, { confirm: deleted.name });
      await client.post(`${workspace.path}/services/${running.id}/archive`);
      const { billing, entitlements } = await read();
      expect(billing.estimatedMonthly).to.equal(85);
      expect(entitlements.services.used).to.equal(2);
    });

    it('shows the build minutes of this month, those of a build under way included', async () => {
      const service = await create();
      const now = new Date();
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
      await built(service, 60, new Date(month.getTime() - 1));
      // This build ends three minutes into the month, and only those minutes count.
      await built(service, 60, new Date(month.getTime() + 3 * MINUTE_MS));
      expect((await read()).entitlements.buildMinutes.used).to.equal(3);
      await newDeployment(api.db, service.id, {
        status: 'building',
        admitted_at: new Date(),
        steps: JSON.stringify([{ name: 'build', startedAt: time(new Date(), -0.5), finishedAt: null }]),
      });
      expect((await read()).entitlements.buildMinutes.used).to.be.greaterThan(3);
    });

    it('shows another workspace nothing of it', async () => {
      const other = await api.workspace();
      await built(await create({ plan: 'pro' }), 30);
      const { body } = await other.owner.client.get(other.path);
      expect(body.workspace.billing.estimatedMonthly).to.equal(0);
      expect(body.workspace.entitlements.services.used).to.equal(0);
      expect(body.workspace.entitlements.buildMinutes.used).to.equal(0);
    });
  });

  describe('the budget', () => {
    it('refuses the deployment that takes the estimated cost past it, and stores nothing', async () => {
      await configure({ budget: 10 });
      const first = await create({ plan: 'starter' });
      expect((await deploy(first)).status).to.equal(200);
      const second = await create({ plan: 'starter' });
      const refused = await deploy(second);
      expectError(refused, 403, 'billing_required');
      expect(refused.body.error.message).to.contain('14 USD').and.contain('10');
      expect(await deploymentsOf(second)).to.deep.equal([]);
      expectError(
        await workspace.owner.client.post(`${workspace.path}/services/${second.id}/actions`, { action: 'deploy' }),
        403,
        'billing_required',
      );
    });

    it('refuses a creation with deploy whole; saving the configuration only costs nothing', async () => {
      await configure({ budget: 10 });
      const configuration = { repository: REPOSITORY, plan: 'standard' };
      const body = { name: 'Too dear', kind: 'web', configuration, variables: [{ key: 'A', value: '1' }] };
      const path = `${workspace.path}/services`;
      expectError(
        await workspace.owner.client.post(path, { ...body, deploy: true }, { 'Idempotency-Key': 'dear' }),
        403,
        'billing_required',
      );
      for (const table of ['services', 'variables', 'deployments']) {
        expect(await api.db(table).where({ workspace_id: workspace.id }), table).to.deep.equal([]);
      }
      expect((await workspace.owner.client.post(path, body)).status).to.equal(201);
    });

    it('admits what just fits, and one of two that would fit alone', async () => {
      await configure({ budget: 25 });
      const body = { name: 'Dear', kind: 'web', configuration: { repository: REPOSITORY, plan: 'standard' } };
      const path = `${workspace.path}/services`;
      const both = await Promise.all([1, 2].map(() => workspace.owner.client.post(path, { ...body, deploy: true })));
      expect(both.map(({ status }) => status).sort()).to.deep.equal([201, 403]);
    });

    it('never refuses free services, nor what a service costs already', async () => {
      await configure({ budget: 100 });
      const running = await create({ plan: 'pro' });
      await pretendLive(api.db, running.id);
      await configure({ budget: 5 });
      await create({ plan: 'pro_plus' });
      expect((await deploy(await create())).status).to.equal(200);
      expect((await deploy(running)).status).to.equal(200);
    });

    it('refuses a rollback to a dearer release, and further replicas of what runs', async () => {
      await configure({ budget: 20 });
      const service = await create({ plan: 'starter' });
      const path = `${workspace.path}/services/${service.id}`;
      const dear = { ...DEFAULT_CONFIGURATION, repository: REPOSITORY, plan: 'pro' };
      const source = await pretendLive(api.db, service.id, { configuration: dear });
      await pretendLive(api.db, service.id);
      expectError(
        await workspace.owner.client.post(`${path}/deploys/${source}/rollback`, { confirm: service.name }),
        403,
        'billing_required',
      );
      const scale = (replicas: number) => workspace.owner.client.patch(path, { configuration: { replicas } });
      expectError(await scale(3), 403, 'billing_required');
      expect((await scale(2)).status).to.equal(200);
      expect((await scale(1)).status).to.equal(200);
      expect((await read()).billing.estimatedMonthly).to.equal(7);
    });

    it('is in the workspace’s currency', async () => {
      await configure({ currency: 'NGN', budget: 10_999 });
      const service = await create({ plan: 'starter' });
      expectError(await deploy(service), 403, 'billing_required');
      await configure({ currency: 'NGN', budget: 11_000 });
      expect((await deploy(service)).status).to.equal(200);
    });

    it('limits nothing if it is 0 or overages are allowed', async () => {
      const service = await create({ plan: 'pro_plus', replicas: 10 });
      expect((await deploy(service)).status).to.equal(200);
      await configure({ budget: 1, allowOverages: true });
      expect((await deploy(service)).status).to.equal(200);
      await configure({ budget: 1, allowOverages: false });
      expectError(await deploy(service), 403, 'billing_required');
    });

    it('is not an API key’s to raise, to lift or to revalue; lowering it is no consent', async () => {
      await configure({ budget: 50, currency: 'NGN' });
      const patch = (configuration: Json) => workspace.owner.client.patch(workspace.path, { configuration });
      for (const changes of [{ budget: 51 }, { budget: 0 }, { currency: 'USD' }, { allowOverages: true }]) {
        expectError(await patch(changes), 403, 'forbidden');
      }
      expect((await patch({ budget: 49, allowOverages: false })).status).to.equal(200);
    });
  });

  describe('capacity', () => {
    it('refuses a service past the plan’s workspaceLimit; deleting one makes room, archiving none', async () => {
      const { client } = workspace.owner;
      const limit = planOf('free').workspaceLimit ?? 0;
      const last = await create();
      await api.db.raw(
        `insert into services (id, workspace_id, name, slug, kind, configuration)
         select gen_random_uuid(), :id, 'bulk', 'bulk-' || n, 'web', cast(:configuration as jsonb)
           from generate_series(2, cast(:limit as int)) n`,
        { id: workspace.id, limit, configuration: JSON.stringify(DEFAULT_CONFIGURATION) },
      );
      const path = `${workspace.path}/services`;
      const attempt = () => client.post(path, { name: 'One more', kind: 'web' });
      await client.post(`${path}/${last.id}/archive`);
      const refused = await attempt();
      expectError(refused, 409, 'capacity_exceeded');
      expect(refused.body.error.message).to.contain(String(limit));
      expect((await read()).entitlements.services).to.deep.equal({ used: limit, limit });
      await client.delete(`${path}/${last.id}`, { confirm: last.name });
      const both = await Promise.all([attempt(), attempt()]);
      expect(both.map(({ status }) => status).sort(), 'one place, one of two').to.deep.equal([201, 409]);
      await api.db('workspaces').where({ id: workspace.id }).update({ plan: 'pro' });
      expect((await attempt()).status, 'the plan without a limit').to.equal(201);
      expect((await read()).entitlements.services.limit).to.equal(null);
    });

    it('refuses builds past the plan’s minutes unless overages are allowed; a rollback builds nothing', async () => {
      const service = await create();
      const path = `${workspace.path}/services/${service.id}`;
      const source = (await deploy(service)).body.deployment.id;
      const live = await pretendLive(api.db, service.id);
      const { image_id } = await api.db('deployments').where({ id: live }).first();
      await api.db('deployments').where({ id: source }).update({ status: 'live', image_id, finished_at: new Date() });
      const limit = planOf('free').buildMinutes ?? 0;
      // The builds begin with the month, so that all of their time counts.
      const now = new Date();
      const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
      await built(service, limit - 1, new Date(month + (limit - 1) * MINUTE_MS));
      expect((await deploy(service)).status).to.equal(200);
      await built(service, 1, new Date(month + MINUTE_MS));
      const refused = await deploy(service);
      expectError(refused, 409, 'capacity_exceeded');
      expect(refused.body.error.message).to.contain(String(limit));
      const rollback = await workspace.owner.client.post(`${path}/deploys/${source}/rollback`, {
        confirm: service.name,
      });
      expect(rollback.status).to.equal(200);
      await configure({ allowOverages: true });
      expect((await deploy(service)).status).to.equal(200);
    });
  });
});

function time(from: Date, minutes: number): string {
  return new Date(from.getTime() + minutes * MINUTE_MS).toISOString();
}
