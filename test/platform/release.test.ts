import { expect } from 'chai';
import { nodeServer, pythonServer, staticSite } from '../support/apps.js';
import { deploy, ended, queueDeploy, readLogs, readService } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { visitsDuring } from '../support/visitors.js';

/** Guarantees of a release to visitors and to its owner. One queue engine is enough, because queues play no part. */
describe('A release', function () {
  this.timeout(240_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres' }, (started) => {
    platform = started;
  });

  it('of a static site serves what its build made', async () => {
    const { service } = await platform.serviceOf('static site', staticSite('first'), {}, 'static');
    await deploy(platform.client, service.id);
    const page = await platform.visit(service);
    expect(page.body).to.contain('<h1>first</h1>');
    expect(page.headers['content-type']).to.match(/^text\/html/);
    expect((await platform.visit(service, '/style.css')).headers['content-type']).to.match(/^text\/css/);
    expect((await platform.visit(service, '/about/')).body).to.equal('<h1>about</h1>');
    expect((await platform.visit(service, '/../../server.js')).status).to.be.oneOf([400, 404]);
  });

  it('of a server of the Python standard library serves it', async () => {
    const { service } = await platform.serviceOf('python', pythonServer('from python'));
    await deploy(platform.client, service.id);
    expect((await platform.visit(service)).body).to.equal('from python');
  });

  it('gives the application its variables, and never the platform’s environment', async () => {
    const { service } = await platform.serviceOf('variables', nodeServer('x'));
    await platform.client.expect('POST', `/services/${service.id}/variables`, {
      key: 'GREETING',
      value: 'good morning',
    });
    await deploy(platform.client, service.id);
    const environment = JSON.parse((await platform.visit(service, '/env')).body);
    expect(environment.GREETING).to.equal('good morning');
    for (const name of ['DATABASE_URL', 'SECRETS_KEY', 'DASHBOARD_PASSWORD', 'REDIS_URL']) {
      expect(environment).not.to.have.property(name);
    }
  });

  it('keeps the log of a deployment, its secrets masked, in ids without a gap', async () => {
    const secret = 'correct-horse-battery';
    const files = nodeServer('x');
    const { service } = await platform.serviceOf('logs', files, { buildCommand: 'echo the secret is $TOKEN' });
    await platform.client.expect('POST', `/services/${service.id}/variables`, { key: 'TOKEN', value: secret });
    await deploy(platform.client, service.id);
    await eventually('the application’s own line is in the log', async () =>
      (await readLogs(platform.client, service.id, '&source=runtime')).some((line) =>
        line.message.startsWith('listening on'),
      ),
    );
    const lines = await readLogs(platform.client, service.id);
    expect(lines.some((line) => line.message === 'the secret is ***')).to.equal(true);
    expect(JSON.stringify(lines)).not.to.contain(secret);
    expect(lines.map((line) => line.id)).to.deep.equal(lines.map((_, index) => index + 1));
  });

  it('replaces another without one failed request, and is rolled back to', async () => {
    const { service, repository } = await platform.serviceOf('releases', nodeServer('one'), { replicas: 2 });
    const first = await deploy(platform.client, service.id);
    const releases = async () => {
      for (const word of ['two', 'three']) {
        await repository.commit(word, nodeServer(word));
        await deploy(platform.client, service.id);
        expect((await platform.visit(service)).body).to.equal(word);
      }
      const { deployment: queued } = await platform.client.expect<{
        deployment: { id: string; sourceDeploymentId: string };
      }>('POST', `/services/${service.id}/deploys/${first.id}/rollback`, { confirm: 'releases' });
      expect(queued.sourceDeploymentId).to.equal(first.id);
      const rollback = await ended(platform.client, service.id, queued.id);
      expect(rollback).to.include({ status: 'live', trigger: 'rollback', commitSha: first.commitSha });
      expect((await platform.visit(service)).body).to.equal('one');
    };
    const { answers } = await visitsDuring(releases, (visitor) =>
      platform.visit(service, visitor === 0 ? '/slow' : '/'),
    );
    expect(answers).to.deep.equal(['200 one', '200 three', '200 two']);
  });

  it('that fails leaves the old one serving', async () => {
    const { service, repository } = await platform.serviceOf('failing release', nodeServer('good'));
    const good = await deploy(platform.client, service.id);
    await repository.commit('broken', { 'server.js': "console.error('no configuration'); process.exit(3)" });
    const queued = await queueDeploy(platform.client, service.id);
    const failed = await ended(platform.client, service.id, queued.id);
    expect(failed.status).to.equal('failed');
    expect(failed.error)
      .to.match(/^release: /)
      .and.contain('exited with code 3')
      .and.contain('no configuration');
    expect((await platform.visit(service)).body).to.equal('good');
    expect(await readService(platform.client, service.id)).to.include({ status: 'live', liveDeploymentId: good.id });
  });

  it('starts an application again that has died', async () => {
    const { service } = await platform.serviceOf('crash', nodeServer('alive'));
    await deploy(platform.client, service.id);
    await platform.visit(service, '/crash');
    await eventually(
      'the crash is seen',
      async () => (await readService(platform.client, service.id)).healthStatus !== 'ready',
    );
    await eventually(
      'it is well again',
      async () => (await readService(platform.client, service.id)).healthStatus === 'ready',
    );
    await eventually('visitors reach it again', async () => (await platform.visit(service)).body === 'alive');
  });

  it('scales with the number of replicas, without a deployment', async () => {
    const { service } = await platform.serviceOf('scale', nodeServer('x'));
    const deployment = await deploy(platform.client, service.id);
    await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: { replicas: 3 } });
    const ready = async () =>
      (await platform.database.db('replicas').where({ service_id: service.id, desired: 'running', state: 'ready' }))
        .length;
    await eventually('three replicas are ready', async () => (await ready()) === 3);
    await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: { replicas: 1 } });
    await eventually('one replica is left', async () => (await ready()) === 1);
    expect((await readService(platform.client, service.id)).deploymentId).to.equal(deployment.id);
  });

  it('a service that was never deployed is deleted at once', async () => {
    const { service } = await platform.serviceOf('draft', nodeServer('x'));
    const answer = await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'draft' });
    expect(answer).to.deep.equal({ deleted: true, queued: false, operation: null });
  });

  it('runs on when its worker is killed, and the next worker adopts it', async () => {
    const { service } = await platform.serviceOf('adopted', nodeServer('still here'));
    await deploy(platform.client, service.id);
    const pid = (await platform.visit(service, '/pid')).body;
    for (const worker of platform.workers) await worker.stop('SIGKILL');
    expect((await platform.visit(service)).body).to.equal('still here');
    const startedAt = Date.now();
    await platform.startWorker();
    await eventually('the new worker checks its health', async () => {
      const row = await platform.database
        .db('replicas')
        .where({ service_id: service.id, desired: 'running' })
        .first('checked_at');
      return new Date(row.checked_at).getTime() > startedAt;
    });
    expect((await platform.visit(service, '/pid')).body).to.equal(pid);
  });
});
