import { expect } from 'chai';
import {
  type AppRepository,
  type Files,
  makeRepository,
  nodeServer,
  npmApp,
  pythonServer,
  staticSite,
} from '../support/apps.js';
import { visit } from '../support/client.js';
import {
  act,
  createService,
  deploy,
  ended,
  operationEnded,
  queueDeploy,
  readDeployment,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { describeEngines, type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

describeEngines('From a repository to a live URL', (engine) => {
  let platform: Platform;
  const repositories: AppRepository[] = [];

  before(async function () {
    this.timeout(240_000);
    platform = await startPlatform({ engine });
  });
  after(async function () {
    this.timeout(240_000);
    await platform?.stop();
    for (const repository of repositories) await repository.remove();
  });

  async function repositoryOf(files: Files): Promise<AppRepository> {
    const repository = await makeRepository(files);
    repositories.push(repository);
    return repository;
  }

  async function serviceOf(name: string, files: Files, configuration: object = {}, kind = 'web') {
    const repository = await repositoryOf(files);
    const service = await createService(platform.client, {
      name,
      kind,
      configuration: { repository: repository.url, ...configuration },
    });
    return { repository, service };
  }

  function get(service: Pick<Service, 'url'>, path = '/') {
    return visit(service.url, platform.edgePort, path);
  }

  it('deploys an npm application with a real dependency', async () => {
    const { service, repository } = await serviceOf('npm app', npmApp('hello'));
    const deployment = await deploy(platform.client, service.id);
    expect((await get(service)).body).to.equal('hello 172800000');
    expect(deployment.commitSha).to.equal((await repository.git('rev-parse', 'HEAD')).trim());
    expect(deployment.commitMessage).to.equal('First commit');
    expect(deployment.steps.map((step) => step.name)).to.deep.equal(['queued', 'build', 'release']);
    expect(deployment.steps.every((step) => step.finishedAt !== null)).to.equal(true);
    const live = await readService(platform.client, service.id);
    expect(live).to.include({ status: 'live', healthStatus: 'ready', liveDeploymentId: deployment.id });
  });

  it('deploys a static site with a build', async () => {
    const { service } = await serviceOf('static site', staticSite('first'), {}, 'static');
    await deploy(platform.client, service.id);
    const page = await get(service);
    expect(page.body).to.contain('<h1>first</h1>');
    expect(page.headers['content-type']).to.match(/^text\/html/);
    expect((await get(service, '/style.css')).headers['content-type']).to.match(/^text\/css/);
    expect((await get(service, '/about/')).body).to.equal('<h1>about</h1>');
    expect((await get(service, '/../../server.js')).status).to.be.oneOf([400, 404]);
  });

  it('deploys a server of the Python standard library', async () => {
    const { service } = await serviceOf('python', pythonServer('from python'));
    await deploy(platform.client, service.id);
    expect((await get(service)).body).to.equal('from python');
  });

  it('gives the application its variables, and never the platform’s environment', async () => {
    const { service } = await serviceOf('variables', nodeServer('x'));
    await platform.client.expect('POST', `/services/${service.id}/variables`, {
      key: 'GREETING',
      value: 'good morning',
    });
    await deploy(platform.client, service.id);
    const environment = JSON.parse((await get(service, '/env')).body);
    expect(environment.GREETING).to.equal('good morning');
    for (const name of ['DATABASE_URL', 'SECRETS_KEY', 'DASHBOARD_PASSWORD', 'REDIS_URL']) {
      expect(environment).not.to.have.property(name);
    }
  });

  it('keeps the log of a deployment, its secrets masked, in ids without a gap', async () => {
    const secret = 'correct-horse-battery';
    const files = nodeServer('x');
    const { service } = await serviceOf('logs', files, { buildCommand: 'echo the secret is $TOKEN' });
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

  it('releases without one failed request, and rolls back', async () => {
    const { service, repository } = await serviceOf('releases', nodeServer('one'), { replicas: 2 });
    const first = await deploy(platform.client, service.id);
    const seen = new Map<string, number>();
    let loading = true;
    const visitors = Array.from({ length: 4 }, async (_, visitor) => {
      while (loading) {
        const { status, body } = await get(service, visitor === 0 ? '/slow' : '/').catch((error) => ({
          status: 0,
          body: String(error),
        }));
        const key = `${status} ${body}`;
        seen.set(key, (seen.get(key) ?? 0) + 1);
      }
    });
    for (const word of ['two', 'three']) {
      await repository.commit(word, nodeServer(word));
      await deploy(platform.client, service.id);
      expect((await get(service)).body).to.equal(word);
    }
    const { deployment: queued } = await platform.client.expect<{
      deployment: { id: string; sourceDeploymentId: string };
    }>('POST', `/services/${service.id}/deploys/${first.id}/rollback`, { confirm: 'releases' });
    expect(queued.sourceDeploymentId).to.equal(first.id);
    const rollback = await ended(platform.client, service.id, queued.id);
    expect(rollback).to.include({ status: 'live', trigger: 'rollback', commitSha: first.commitSha });
    expect((await get(service)).body).to.equal('one');
    loading = false;
    await Promise.all(visitors);
    expect([...seen.keys()].sort()).to.deep.equal(['200 one', '200 three', '200 two']);
  });

  it('a failed release leaves the old one serving', async () => {
    const { service, repository } = await serviceOf('failing release', nodeServer('good'));
    const good = await deploy(platform.client, service.id);
    await repository.commit('broken', { 'server.js': "console.error('no configuration'); process.exit(3)" });
    const queued = await queueDeploy(platform.client, service.id);
    const failed = await ended(platform.client, service.id, queued.id);
    expect(failed.status).to.equal('failed');
    expect(failed.error)
      .to.match(/^release: /)
      .and.contain('exited with code 3')
      .and.contain('no configuration');
    expect((await get(service)).body).to.equal('good');
    expect(await readService(platform.client, service.id)).to.include({ status: 'live', liveDeploymentId: good.id });
  });

  it('cancels a running build: no process is left, and it never goes live', async () => {
    const { service } = await serviceOf('cancel', nodeServer('x'), { buildCommand: 'echo building; sleep 86399' });
    const queued = await queueDeploy(platform.client, service.id);
    await eventually('the build runs', async () =>
      (await readLogs(platform.client, service.id)).some((line) => line.message === 'building'),
    );
    const answer = await platform.client.call('POST', `/services/${service.id}/deploys/${queued.id}/cancel`, {});
    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.equal({ cancelRequested: true });
    const cancelled = await ended(platform.client, service.id, queued.id, 20_000);
    expect(cancelled).to.include({ status: 'cancelled', cancelRequested: true });
    const again = await platform.client.call<{ error: { code: string } }>(
      'POST',
      `/services/${service.id}/deploys/${queued.id}/cancel`,
      {},
    );
    expect(again.status).to.equal(409);
    expect(again.body.error.code).to.equal('deployment_terminal');
  });

  it('a newer deployment cancels the older one of its service', async () => {
    const { service } = await serviceOf('overlap', nodeServer('x'), { buildCommand: 'sleep 3' });
    const older = await queueDeploy(platform.client, service.id);
    await eventually(
      'the older one builds',
      async () => (await readDeployment(platform.client, service.id, older.id)).status === 'building',
    );
    const newer = await queueDeploy(platform.client, service.id);
    expect((await ended(platform.client, service.id, older.id)).status).to.equal('cancelled');
    expect((await ended(platform.client, service.id, newer.id)).status).to.equal('live');
  });

  it('restarts, suspends and resumes', async () => {
    const { service } = await serviceOf('actions', nodeServer('up'));
    await deploy(platform.client, service.id);
    const pid = async () =>
      (await platform.database.db('replicas').where({ service_id: service.id, desired: 'running' }).first('pid'))?.pid;
    const before = await pid();
    expect(await act(platform.client, service.id, 'restart')).to.equal('succeeded');
    expect(await pid()).not.to.equal(before);
    expect((await get(service)).body).to.equal('up');

    expect(await act(platform.client, service.id, 'suspend')).to.equal('succeeded');
    expect((await get(service)).status).to.equal(503);
    expect((await readService(platform.client, service.id)).status).to.equal('suspended');

    expect(await act(platform.client, service.id, 'resume')).to.equal('succeeded');
    await eventually('it answers again', async () => (await get(service)).body === 'up');
  });

  it('an application that dies is started again', async () => {
    const { service } = await serviceOf('crash', nodeServer('alive'));
    await deploy(platform.client, service.id);
    await get(service, '/crash');
    await eventually(
      'the crash is seen',
      async () => (await readService(platform.client, service.id)).healthStatus !== 'ready',
    );
    await eventually(
      'it is well again',
      async () => (await readService(platform.client, service.id)).healthStatus === 'ready',
    );
    await eventually('visitors reach it again', async () => (await get(service)).body === 'alive');
  });

  it('scales with the number of replicas, without a deployment', async () => {
    const { service } = await serviceOf('scale', nodeServer('x'));
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

  it('deletes a service with everything it had', async () => {
    const { service } = await serviceOf('delete me', nodeServer('x'));
    await deploy(platform.client, service.id);
    const answer = await platform.client.expect<{ deleted: boolean; queued: boolean; operation: { id: string } }>(
      'DELETE',
      `/services/${service.id}`,
      { confirm: 'delete me' },
    );
    expect(answer).to.include({ deleted: false, queued: true });
    expect(await operationEnded(platform.client, service.id, answer.operation.id)).to.equal('succeeded');
    expect((await platform.client.call('GET', `/services/${service.id}`)).status).to.equal(404);
    expect((await get(service)).status).to.equal(404);
    const [left] = await platform.database
      .db('replicas')
      .where({ service_id: service.id })
      .whereNot({ state: 'stopped' })
      .count({ n: '*' });
    expect(Number(left?.n)).to.equal(0);
  });

  it('a service that was never deployed is deleted at once', async () => {
    const { service } = await serviceOf('draft', nodeServer('x'));
    const answer = await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'draft' });
    expect(answer).to.deep.equal({ deleted: true, queued: false, operation: null });
  });
});
