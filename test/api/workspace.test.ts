import { expect } from 'chai';
import { expectError, type Json, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { makeWorker } from '../support/factories.js';

describe('Workspace and catalog', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api, workspace } = given));

  it('the workspace shows the caller’s role and every setting with its default', async () => {
    const viewer = await workspace.member('viewer');
    const { body } = await viewer.client.get(workspace.path);
    expect(body.workspace).to.include({ id: workspace.id, plan: 'free', role: 'viewer' });
    expect(body.workspace.configuration).to.deep.equal({
      allowOverages: false,
      avatarColor: '#c4b5fd',
      budget: 0,
      budgetAlerts: true,
      buildConcurrency: 1,
      currency: 'USD',
      defaultRegion: 'auto',
      deployNotifications: 'failure',
      description: '',
      includePreviewLogs: true,
      notificationEmail: '',
      overlappingDeploys: 'cancel',
      previewNotifications: false,
      recordShells: false,
      requireMfa: false,
      securityContact: '',
      timezone: 'Africa/Lagos',
    });
    expect((await workspace.owner.client.get(workspace.path)).body.workspace.role).to.equal('owner');
  });

  it('settings merge; admins may change them, developers not', async () => {
    const admin = await workspace.member('admin');
    const { body } = await admin.client.patch(workspace.path, { configuration: { buildConcurrency: 3 } });
    expect(body.workspace.configuration).to.include({ buildConcurrency: 3, timezone: 'Africa/Lagos' });
    await admin.client.patch(workspace.path, { configuration: { timezone: 'UTC' } });
    const read = await admin.client.get(workspace.path);
    expect(read.body.workspace.configuration).to.include({ buildConcurrency: 3, timezone: 'UTC' });
    const developer = await workspace.member('developer');
    expectError(await developer.client.patch(workspace.path, { configuration: {} }), 403, 'forbidden');
  });

  it('wrong settings are refused', async () => {
    for (const configuration of [
      { buildConcurrency: 0 },
      { timezone: 'Mars/Olympus' },
      { avatarColor: 'violet' },
      { notificationEmail: 'nobody' },
      { colour: 'red' },
    ]) {
      expectError(await workspace.owner.client.patch(workspace.path, { configuration }), 400, 'invalid_request');
    }
    expectError(await workspace.owner.client.patch(workspace.path, { name: 'x' }), 400, 'invalid_request');
  });

  it('an API key cannot consent to payment', async () => {
    for (const configuration of [{ allowOverages: true }, { budget: 10 }]) {
      expectError(await workspace.owner.client.patch(workspace.path, { configuration }), 403, 'forbidden');
    }
    const same = await workspace.owner.client.patch(workspace.path, {
      configuration: { allowOverages: false, budget: 0 },
    });
    expect(same.status).to.equal(200);
  });

  it('the catalog lists plans, regions, runtimes, service types and the defaults', async () => {
    const { body } = await workspace.owner.reader.get('/catalog');
    expect(body.defaults).to.deep.equal({
      autoDeploy: 'off',
      backupEnabled: true,
      backupRetentionDays: 7,
      branch: 'main',
      buildCommand: '',
      buildMethod: 'railpack',
      cacheProfile: 'none',
      databaseName: '',
      databaseUser: '',
      databaseVersion: '16',
      description: '',
      dockerContext: '.',
      dockerfilePath: 'Dockerfile',
      dockerfileTarget: '',
      dockerfileText: '',
      evictionPolicy: 'allkeys-lru',
      healthCheckPath: '',
      ignorePaths: [],
      image: '',
      includePaths: [],
      ipAllowList: [],
      maintenance: false,
      maintenancePage: '',
      maxConcurrency: 1,
      maxReplicas: 3,
      maxRetries: 3,
      minReplicas: 1,
      notifications: 'workspace',
      plan: 'free',
      platformDomainEnabled: true,
      port: 8000,
      preDeployCommand: '',
      previewDatabases: 'shared',
      previewExpiryHours: 72,
      previewMode: 'off',
      privateNetworking: true,
      publishDirectory: 'dist',
      region: 'auto',
      registryId: '',
      replicas: 1,
      repository: '',
      rootDirectory: '',
      runtime: 'auto',
      scaling: 'manual',
      schedule: '0 * * * *',
      sourceType: 'repository',
      startArguments: [],
      startCommand: '',
      targetCpu: 70,
      targetMemory: 80,
      timeoutSeconds: 3600,
      timezone: 'UTC',
    });
    expect(body.plans.map((plan: Json) => plan.id)).to.deep.equal(['free', 'starter', 'standard', 'pro', 'pro_plus']);
    expect(body.serviceTypes.map((type: Json) => type.id)).to.include.members(['web', 'static']);
    expect(body.pricesAreEstimates).to.equal(true);
    expect(body.plans[0]).to.not.have.property('pids');
  });

  it('the catalog says whether a worker was ready recently', async () => {
    const online = async () => (await workspace.owner.reader.get('/catalog')).body.capabilities.workerOnline;
    expect(await online()).to.equal(false);
    const id = await makeWorker(api.db, 1);
    expect(await online()).to.equal(true);
    await api
      .db('workers')
      .where({ id })
      .update({ seen_at: new Date(Date.now() - 16_000) });
    expect(await online()).to.equal(false);
  });
});
