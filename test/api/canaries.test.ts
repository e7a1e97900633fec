import { expect } from 'chai';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { pretendCanary, pretendLive } from '../support/records.js';

describe('Canaries', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let previous: string;
  let deploys: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path);
    previous = await pretendLive(api.db, service.id);
    deploys = `${workspace.path}/services/${service.id}/deploys`;
  });
  const live = async () => (await api.db('services').where({ id: service.id }).first()).live_deployment_id;

  it('are shown with the figures of both sides', async () => {
    const id = await pretendCanary(api.db, service.id);
    const { canary } = (await workspace.owner.client.get(`${deploys}/${id}/canary`)).body;
    expect(canary).to.deep.include({
      deploymentId: id,
      previousDeploymentId: previous,
      percent: 10,
      outcome: 'running',
      reason: '',
      endedAt: null,
      new: { requests: 40, errors: 2, latencyP50: 8.5, latencyP95: 9.85, readyReplicas: 0 },
      previous: { requests: 0, errors: 0, latencyP50: null, latencyP95: null, readyReplicas: 0 },
    });
    expect((await workspace.owner.client.get(`${deploys}/${id}`)).body.deployment).to.include({ status: 'releasing' });
    expect((await workspace.owner.client.get(`${deploys}/${previous}/canary`)).body).to.deep.equal({ canary: null });
    const other = await newService(workspace.owner.client, workspace.path);
    expectError(
      await workspace.owner.client.get(`${workspace.path}/services/${other.id}/deploys/${id}/canary`),
      404,
      'not_found',
    );
  });

  it('are promoted by developers, once', async () => {
    const id = await pretendCanary(api.db, service.id);
    const viewer = await workspace.member('viewer');
    expectError(await viewer.client.post(`${deploys}/${id}/promote`), 403, 'forbidden');
    const developer = await workspace.member('developer');
    const answer = await developer.client.post(`${deploys}/${id}/promote`);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    expect(await live()).to.equal(id);
    const { canary } = (await workspace.owner.client.get(`${deploys}/${id}/canary`)).body;
    expect(canary.outcome).to.equal('promoted');
    expect(canary.reason).to.match(/^promoted by .*@/);
    expectError(await developer.client.post(`${deploys}/${id}/promote`), 409, 'conflict');
    expectError(await developer.client.post(`${deploys}/${previous}/promote`), 409, 'conflict');
  });

  it('that are being cancelled cannot be promoted', async () => {
    const id = await pretendCanary(api.db, service.id);
    expect((await workspace.owner.client.post(`${deploys}/${id}/cancel`)).status).to.equal(200);
    expectError(await workspace.owner.client.post(`${deploys}/${id}/promote`), 409, 'conflict');
    expect(await live()).to.equal(previous);
  });
});
