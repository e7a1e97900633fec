import { expect } from 'chai';
import { nodeServer, npmApp } from '../support/apps.js';
import {
  act,
  deploy,
  ended,
  operationEnded,
  queueDeploy,
  readDeployment,
  readLogs,
  readService,
} from '../support/deployments.js';
import { describeEngines, type Platform, usePlatform } from '../support/platform.js';
import { eventually, isRunning, processesWith } from '../support/processes.js';

describeEngines('From a repository to a live URL', (engine) => {
  let platform: Platform;
  usePlatform({ engine }, (started) => {
    platform = started;
  });

  it('deploys an npm application with a real dependency', async () => {
    const { service, repository } = await platform.serviceOf('npm app', npmApp('hello'));
    const deployment = await deploy(platform.client, service.id);
    expect((await platform.visit(service)).body).to.equal('hello 172800000');
    expect(deployment.commitSha).to.equal(await repository.git('rev-parse', 'HEAD'));
    expect(deployment.commitMessage).to.equal('First commit');
    expect(deployment.steps.map((step) => step.name)).to.deep.equal(['queued', 'build', 'release']);
    expect(deployment.steps.every((step) => step.finishedAt !== null)).to.equal(true);
    const live = await readService(platform.client, service.id);
    expect(live).to.include({ status: 'live', healthStatus: 'ready', liveDeploymentId: deployment.id });
  });

  it('cancels a running build: no process is left, and it never goes live', async () => {
    const { service } = await platform.serviceOf('cancel', nodeServer('x'), {
      buildCommand: 'echo building; sleep 86399',
    });
    const queued = await queueDeploy(platform.client, service.id);
    await eventually('the build runs', async () =>
      (await readLogs(platform.client, service.id)).some((line) => line.message === 'building'),
    );
    expect(await processesWith('86399')).to.not.equal('');
    const answer = await platform.client.call('POST', `/services/${service.id}/deploys/${queued.id}/cancel`, {});
    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.equal({ cancelRequested: true });
    const cancelled = await ended(platform.client, service.id, queued.id);
    expect(cancelled).to.include({ status: 'cancelled', cancelRequested: true });
    expect(await processesWith('86399'), 'what is left of the build').to.equal('');
    expect(await readService(platform.client, service.id)).to.include({
      status: 'not_deployed',
      liveDeploymentId: null,
    });
    const again = await platform.client.call<{ error: { code: string } }>(
      'POST',
      `/services/${service.id}/deploys/${queued.id}/cancel`,
      {},
    );
    expect(again.status).to.equal(409);
    expect(again.body.error.code).to.equal('deployment_terminal');
  });

  it('a newer deployment cancels the older one of its service', async () => {
    const { service } = await platform.serviceOf('overlap', nodeServer('x'), { buildCommand: 'sleep 86394' });
    const older = await queueDeploy(platform.client, service.id);
    await eventually(
      'the older one builds',
      async () => (await readDeployment(platform.client, service.id, older.id)).status === 'building',
    );
    await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: { buildCommand: '' } });
    const newer = await queueDeploy(platform.client, service.id);
    expect((await ended(platform.client, service.id, older.id)).status).to.equal('cancelled');
    expect((await ended(platform.client, service.id, newer.id)).status).to.equal('live');
  });

  it('restarts, suspends and resumes', async () => {
    const { service } = await platform.serviceOf('actions', nodeServer('up'));
    await deploy(platform.client, service.id);
    const pid = async () =>
      (await platform.database.db('replicas').where({ service_id: service.id, desired: 'running' }).first('pid'))?.pid;
    const before = await pid();
    expect(await act(platform.client, service.id, 'restart')).to.equal('succeeded');
    expect(await pid()).not.to.equal(before);
    expect((await platform.visit(service)).body).to.equal('up');

    expect(await act(platform.client, service.id, 'suspend')).to.equal('succeeded');
    expect((await platform.visit(service)).status).to.equal(503);
    expect((await readService(platform.client, service.id)).status).to.equal('suspended');

    expect(await act(platform.client, service.id, 'resume')).to.equal('succeeded');
    await eventually('it answers again', async () => (await platform.visit(service)).body === 'up');
  });

  it('deletes a service with everything it had', async () => {
    const { service } = await platform.serviceOf('delete me', nodeServer('x'));
    await deploy(platform.client, service.id);
    const replica = await platform.database.db('replicas').where({ service_id: service.id }).first('pid');
    expect(isRunning(replica.pid)).to.equal(true);
    const answer = await platform.client.expect<{ deleted: boolean; queued: boolean; operation: { id: string } }>(
      'DELETE',
      `/services/${service.id}`,
      { confirm: 'delete me' },
    );
    expect(answer).to.include({ deleted: false, queued: true });
    expect(await operationEnded(platform.client, service.id, answer.operation.id)).to.equal('succeeded');
    expect((await platform.client.call('GET', `/services/${service.id}`)).status).to.equal(404);
    expect((await platform.visit(service)).status).to.equal(404);
    const [left] = await platform.database
      .db('replicas')
      .where({ service_id: service.id })
      .whereNot({ state: 'stopped' })
      .count({ n: '*' });
    expect(Number(left?.n)).to.equal(0);
    expect(isRunning(replica.pid), 'its process').to.equal(false);
    expect(await platform.database.db('variables').where({ service_id: service.id })).to.deep.equal([]);
    expect(await platform.database.db('log_lines').where({ service_id: service.id })).to.deep.equal([]);
  });
});
