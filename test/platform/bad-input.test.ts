import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { createService, type Deployment, ended, queueDeploy, readLogs } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import type { Files } from '../support/repositories.js';

/** Each deployment fails with an error that names step, command and cause. Queues play no part. */
describe('Bad input', function () {
  this.timeout(240_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres', env: { RELEASE_TIMEOUT_SECONDS: '8', STOP_GRACE_SECONDS: '1' } }, (started) => {
    platform = started;
  });

  async function fails(
    name: string,
    files: Files,
    configuration: object = {},
  ): Promise<{ deployment: Deployment; serviceId: string }> {
    const { url } = await platform.repositoryOf(files);
    return failsFrom(name, { repository: url, ...configuration });
  }

  async function failsFrom(name: string, configuration: object) {
    const service = await createService(platform.client, { name, configuration });
    const queued = await queueDeploy(platform.client, service.id);
    const deployment = await ended(platform.client, service.id, queued.id);
    expect(deployment.status, deployment.error).to.equal('failed');
    const left = await platform.database
      .db('replicas')
      .where({ service_id: service.id })
      .whereNot({ state: 'stopped' });
    expect(left).to.deep.equal([]);
    const lines = await readLogs(platform.client, service.id);
    expect(lines.at(-1)?.message).to.equal(`The deployment failed at ${deployment.error}`);
    return { deployment, serviceId: service.id };
  }

  function withServer(code: string): Files {
    return { ...nodeServer('x'), 'server.js': code };
  }

  it('a repository that does not exist', async () => {
    const { deployment } = await failsFrom('no repository', { repository: 'file:///nowhere/at/all.git' });
    expect(deployment.error)
      .to.match(/^queued: /)
      .and.contain('/nowhere/at/all.git');
  });

  it('a branch that does not exist', async () => {
    const { deployment } = await fails('no branch', nodeServer('x'), { branch: 'release' });
    expect(deployment.error)
      .to.match(/^queued: /)
      .and.contain('release')
      .and.contain('main');
  });

  it('a build that fails', async () => {
    const { deployment } = await fails('failing build', nodeServer('x'), {
      buildCommand: 'echo no such module >&2; exit 9',
    });
    expect(deployment.error)
      .to.match(/^build: /)
      .and.contain('exit 9')
      .and.contain('code 9')
      .and.contain('no such module');
  });

  it('a build that floods its output loses no line', async () => {
    const lines = 20_000;
    const { serviceId } = await fails('flooding build', nodeServer('x'), { buildCommand: `seq 1 ${lines}; exit 1` });
    const log = await readLogs(platform.client, serviceId, '&source=build');
    const numbers = log.map((line) => line.message).filter((message) => /^\d+$/.test(message));
    expect(numbers).to.deep.equal(Array.from({ length: lines }, (_, index) => String(index + 1)));
  });

  it('an application that dies at its start', async () => {
    const { deployment } = await fails(
      'dies',
      withServer("console.error('cannot find the database'); process.exit(4)"),
    );
    expect(deployment.error)
      .to.match(/^release: /)
      .and.contain('code 4')
      .and.contain('cannot find the database');
  });

  it('an application that never listens', async () => {
    const { deployment } = await fails('silent', withServer('setInterval(() => {}, 1000)'));
    expect(deployment.error)
      .to.match(/^release: /)
      .and.contain('PORT')
      .and.contain('within 8 s');
  });

  it('an application that speaks no HTTP on the port on which it listens', async () => {
    const program = "require('node:net').createServer((socket) => socket.end('220 ready')).listen(39977)";
    const { deployment } = await fails('other port', withServer(program), { healthCheckPath: '/' });
    expect(deployment.error)
      .to.match(/^release: /)
      .and.contain('39977');
  });

  it('an application whose health check answers 500', async () => {
    const server =
      "require('node:http').createServer((q, r) => { r.statusCode = 500; r.end() }).listen(process.env.PORT)";
    const { deployment } = await fails('unhealthy', withServer(server), { healthCheckPath: '/health' });
    expect(deployment.error)
      .to.match(/^release: /)
      .and.contain('/health')
      .and.contain('500');
  });
});
