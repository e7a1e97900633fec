import { expect } from 'chai';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newDeployment } from '../support/records.js';

/** Setting → valid values other than the default that an API key may set, and invalid values. */
const SETTINGS: Record<string, { good: unknown[]; bad: unknown[] }> = {
  allowOverages: { good: [false], bad: ['no', 0, null] },
  avatarColor: { good: ['#00FF7f'], bad: ['violet', '#fff', '#gggggg', ''] },
  budget: { good: [0], bad: [-1, '10', null, 1_000_000_001] },
  budgetAlerts: { good: [false], bad: ['off', null] },
  buildConcurrency: { good: [1, 100, 7], bad: [0, 101, 1.5, '2'] },
  currency: { good: ['NGN', 'USD'], bad: ['EUR', 'usd', ''] },
  defaultRegion: { good: ['local', 'auto'], bad: ['mars', ''] },
  deployNotifications: { good: ['all', 'none', 'failure'], bad: ['some', true] },
  description: { good: ['', 'A shop — for all', 'x'.repeat(2000)], bad: ['x'.repeat(2001), null] },
  includePreviewLogs: { good: [false], bad: ['false'] },
  notificationEmail: { good: ['ops@example.com', ''], bad: ['nobody', 'a@b@c', `${'x'.repeat(250)}@example.com`] },
  overlappingDeploys: { good: ['wait', 'cancel'], bad: ['queue', null] },
  previewNotifications: { good: [true], bad: [1] },
  recordShells: { good: [true], bad: ['true', 1] },
  requireMfa: { good: [false], bad: ['true'] },
  securityContact: { good: ['security@example.com', 'https://example.com/security'], bad: ['x'.repeat(255), 7] },
  timezone: { good: ['Europe/Paris', 'UTC', 'Africa/Lagos'], bad: ['Mars/Olympus', '', 'x'.repeat(65)] },
};

describe('Workspace settings', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
  });

  const patch = (configuration: Json) => workspace.owner.client.patch(workspace.path, { configuration });
  const settings = async (): Promise<Json> =>
    (await workspace.owner.reader.get(workspace.path)).body.workspace.configuration;

  it('are seventeen', async () => {
    expect(Object.keys(await settings()).sort()).to.deep.equal(Object.keys(SETTINGS).sort());
  });

  for (const [name, { good, bad }] of Object.entries(SETTINGS)) {
    it(`${name} is stored and shown, and refused if it is wrong`, async () => {
      const others = await settings();
      for (const value of good) {
        const { status, body } = await patch({ [name]: value });
        expect(status, JSON.stringify(body)).to.equal(200);
        expect(body.workspace.configuration).to.deep.equal({ ...others, [name]: value });
      }
      const before = await settings();
      for (const value of bad) {
        const refused = await patch({ [name]: value });
        expectError(refused, 400, 'invalid_request');
        expect(refused.body.error.details[0].path).to.equal(`/configuration/${name}`);
      }
      expect(await settings()).to.deep.equal(before);
    });
  }

  it('are all refused if one of them is wrong', async () => {
    expectError(await patch({ description: 'new', timezone: 'nowhere' }), 400, 'invalid_request');
    expect((await settings()).description).to.equal('');
  });

  it('buildConcurrency past its bound is refused with the bound', async () => {
    const { body } = await patch({ buildConcurrency: 101 });
    expect(body.error.details[0].message).to.contain('100');
  });

  it('defaultRegion is the region of services that are created without one', async () => {
    await patch({ defaultRegion: 'local' });
    const { client } = workspace.owner;
    const without = await newService(client, workspace.path, { configuration: { port: 3000 } });
    const bare = await newService(client, workspace.path);
    const chosen = await newService(client, workspace.path, { configuration: { region: 'auto' } });
    expect([without, bare, chosen].map(({ configuration }) => configuration.region)).to.deep.equal([
      'local',
      'local',
      'auto',
    ]);
    await patch({ defaultRegion: 'auto' });
    const { body } = await client.get(`${workspace.path}/services/${without.id}`);
    expect(body.service.configuration.region, 'what exists keeps its region').to.equal('local');
  });

  describe('overlappingDeploys', () => {
    /** Queues a newer deployment while one runs and one waits. Returns whether each of these was asked to cancel. */
    async function overlap(): Promise<boolean[]> {
      const { client } = workspace.owner;
      const configuration = { repository: 'https://example.com/shop.git' };
      const service = await newService(client, workspace.path, { configuration });
      const other = await newService(client, workspace.path, { configuration });
      const running = await newDeployment(api.db, service.id, { status: 'building', admitted_at: new Date() });
      const elsewhere = await newDeployment(api.db, other.id, { status: 'building', admitted_at: new Date() });
      const ended = await newDeployment(api.db, service.id, { status: 'failed', finished_at: new Date() });
      const path = `${workspace.path}/services/${service.id}/deploys`;
      const waiting = (await client.post(path)).body.deployment.id;
      const newest = (await client.post(path)).body.deployment.id;
      const asked = async (serviceId: string, id: string) =>
        (await client.get(`${workspace.path}/services/${serviceId}/deploys/${id}`)).body.deployment.cancelRequested;
      expect(await asked(other.id, elsewhere), 'another service’s').to.equal(false);
      expect(await asked(service.id, ended), 'one that has ended').to.equal(false);
      return [await asked(service.id, running), await asked(service.id, waiting), await asked(service.id, newest)];
    }

    it('cancel: a newer deployment cancels the older ones of its service', async () => {
      expect((await settings()).overlappingDeploys).to.equal('cancel');
      expect(await overlap()).to.deep.equal([true, true, false]);
    });

    it('wait: the newer one waits, and nothing is cancelled', async () => {
      await patch({ overlappingDeploys: 'wait' });
      expect(await overlap()).to.deep.equal([false, false, false]);
    });
  });
});
