import { expect } from 'chai';
import { visit } from '../support/client.js';
import { DATA_IMAGES, importDataServers } from '../support/data-images.js';
import { createService, deploy, ended, queueDeploy, readDeployment, readLogs } from '../support/deployments.js';
import { type DockerNode, NODE_IMAGE } from '../support/docker.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { NO_SWARM_PLATFORM, SwarmPlatform } from '../support/swarm-platform.js';
import { visitsDuring } from '../support/visitors.js';
import { swarmDatabases } from './swarm-databases.js';

const answering = (word: string) => ({
  'server.js': `
    const server = require('node:http').createServer((_, response) => response.end('${word}'));
    server.listen(process.env.PORT);
    process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
  `,
  Dockerfile: `FROM ${NODE_IMAGE}\nCOPY server.js .\nCMD ["node", "server.js"]\n`,
});

/** Tests Docker Swarm on two machines behind Caddy, with queues on Redis and workers on two hosts. */
describe(`A platform on several hosts${NO_SWARM_PLATFORM === '' ? '' : `: ${NO_SWARM_PLATFORM}`}`, function () {
  this.timeout(300_000);
  let swarm: SwarmPlatform;
  let platform: Platform;
  let manager: DockerNode;
  let second: DockerNode;

  before(async function () {
    if (NO_SWARM_PLATFORM !== '') this.skip();
    swarm = await SwarmPlatform.start({ engine: 'redis', nodes: 2, env: DATA_IMAGES });
    ({ platform, manager } = swarm);
    [second = manager] = swarm.machines.nodes.slice(1);
    // A worker looks for the images only when it starts.
    await importDataServers(manager, platform.dataDir);
    for (const host of [0, 1]) await swarm.startWorker(host);
  });
  after(async () => {
    await swarm?.stop();
  });

  async function places(serviceId: string): Promise<string[]> {
    const rows = await platform.database.db('replicas').where({ service_id: serviceId, state: 'ready' });
    return rows.map((row) => row.address).sort();
  }

  it('releases a Dockerfile three times under load without one failed request', async () => {
    const { client } = platform;
    const repository = await platform.repositoryOf(answering('one'));
    const configuration = { repository: repository.url, buildMethod: 'dockerfile', replicas: 2 };
    const service = await createService(client, { name: 'app', configuration });
    const get = () => platform.visit(service);
    await deploy(client, service.id);
    expect(await get()).to.include({ status: 200, body: 'one' });
    expect(await places(service.id)).to.deep.equal([manager.address, second.address].sort());

    const releases = async () => {
      for (const word of ['two', 'three', 'four']) {
        await repository.commit(word, answering(word));
        await deploy(client, service.id);
        expect((await get()).body).to.equal(word);
      }
    };
    const { answers } = await visitsDuring(releases, get);
    expect(answers).to.deep.equal(['200 four', '200 one', '200 three', '200 two']);
  });

  describe('databases', () => {
    swarmDatabases(() => ({ swarm, second }));
  });

  // Mocha runs the tests of a suite before its inner suites, and the databases need both hosts.
  describe('of which one is gone', () => {
    it('has its services back on the other one, and what its worker built goes live from there', async () => {
      const { client, edgePort } = platform;
      const files = answering('slow');
      const slow = await platform.repositoryOf({
        ...files,
        Dockerfile: files.Dockerfile.replace('COPY', 'RUN echo building now && sleep 6\nCOPY'),
      });
      const service = await createService(client, {
        name: 'slow',
        configuration: { repository: slow.url, buildMethod: 'dockerfile' },
      });
      const [own, other] = platform.workers;
      if (!own || !other) throw new Error('each host has a worker');
      // This host's worker is stopped, so that the other host's takes the deployment.
      own.kill('SIGSTOP');
      const { id } = await queueDeploy(client, service.id);
      await eventually('it is being built', async () =>
        (await readLogs(client, service.id)).some((line) => line.message.includes('building now')),
      );
      own.kill('SIGCONT');
      await Promise.all([swarm.cut(second), other.stop('SIGKILL')]);

      const deployment = await ended(client, service.id, id);
      expect(deployment).to.include({ status: 'live', error: '' });
      expect((await platform.visit(service)).body).to.equal('slow');
      const app = await platform.database.db('services').where({ name: 'app' }).first();
      await eventually('the replicas of the dead node are ready on the other', async () => {
        const now = await places(app.id);
        return now.length === 2 && now.every((address) => address === manager.address);
      });
      expect((await visit(`http://${app.slug}.localhost`, edgePort)).body).to.equal('four');
      expect((await readDeployment(client, app.id, app.live_deployment_id)).status).to.equal('live');
    });
  });
});
