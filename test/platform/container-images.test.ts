import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { NO_OPENSSL } from '../support/certificates.js';
import { visit } from '../support/client.js';
import { createService, deploy, ended, queueDeploy, readDeployment, readLogs } from '../support/deployments.js';
import { DockerMachines, type DockerNode, NO_DOCKER, NODE_IMAGE } from '../support/docker.js';
import { NO_REGISTRY, startRegistry, type TestRegistry } from '../support/docker-registry.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { startRailpack } from '../support/railpack.js';

const REASON = NO_DOCKER || NO_REGISTRY || NO_OPENSSL;
const REGISTRY_PORT = 5000;

/** Uses a platform with containers as a user would, over HTTP, on its own swarm. */
describe(`Applications as container images${REASON === '' ? '' : `: ${REASON}`}`, function () {
  this.timeout(240_000);
  let machines: DockerMachines;
  let manager: DockerNode;
  let folder: string;
  let registry: TestRegistry;
  let platform: Platform;

  before(async function () {
    if (REASON !== '') this.skip();
    folder = await mkdtemp(join(tmpdir(), 'ranvier-containers-'));
    machines = await DockerMachines.create();
    manager = await machines.addManager({ tls: true });
    await manager.importNode();
    registry = await startRegistry(manager, folder, REGISTRY_PORT);
    platform = await startPlatform({
      engine: 'postgres',
      env: {
        RUNTIME: 'swarm',
        // The connection to the engine uses TLS, as for an engine on another host.
        DOCKER_HOST: manager.tlsHost,
        DOCKER_TLS_VERIFY: '1',
        DOCKER_CERT_PATH: manager.certificates,
        BASE_IMAGES: `auto=${NODE_IMAGE}`,
      },
    });
  });
  after(async () => {
    await platform?.stop({ hosted: false });
    await registry?.stop();
    await machines?.destroy();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const answering = (word: string) => ({
    Procfile: 'web: exec node server.js',
    'server.js': `require('node:http').createServer((_, response) => response.end('${word}')).listen(process.env.PORT);\n`,
  });

  const answerOf = async (url: string) => (await visit(url, platform.edgePort)).body;

  it('goes live from a repository, changes, and rolls back to the same image', async () => {
    const { client } = platform;
    const repository = await platform.repositoryOf(answering('one'));
    const service = await createService(client, { name: 'app', configuration: { repository: repository.url } });
    const first = await deploy(client, service.id);
    expect(await answerOf(service.url)).to.equal('one');
    await repository.commit('Two', answering('two'));
    await deploy(client, service.id);
    expect(await answerOf(service.url)).to.equal('two');
    const { deployment } = await client.expect<{ deployment: { id: string } }>(
      'POST',
      `/services/${service.id}/deploys/${first.id}/rollback`,
      { confirm: 'app' },
    );
    expect((await ended(client, service.id, deployment.id)).status).to.equal('live');
    expect(await answerOf(service.url)).to.equal('one');
    const lines = (await readLogs(client, service.id)).map((line) => line.message);
    expect(
      lines.some((line) => line.startsWith('Detected: no framework, started with "exec node server.js"')),
    ).to.equal(true);
  });

  it('serves a site of files from this host, and a Dockerfile from the swarm', async () => {
    const { client } = platform;
    const site = await platform.repositoryOf({ 'index.html': '<h1>files</h1>' });
    const files = await createService(client, { name: 'site', configuration: { repository: site.url } });
    await deploy(client, files.id);
    expect(await answerOf(files.url)).to.equal('<h1>files</h1>');

    const dockerfile = `FROM ${NODE_IMAGE}\nWORKDIR /own\nCOPY server.js .\nUSER node\nCMD ["node", "server.js"]\n`;
    const docker = await platform.repositoryOf({ ...answering('own'), Dockerfile: dockerfile });
    const configuration = { repository: docker.url, buildMethod: 'dockerfile' };
    const service = await createService(client, { name: 'docker', configuration });
    await deploy(client, service.id);
    expect(await answerOf(service.url)).to.equal('own');
  });

  it('runs an image of a registry, pinned to the digest of its tag', async () => {
    const { client } = platform;
    const image = `127.0.0.1:${REGISTRY_PORT}/team/app:1`;
    const program = "require('node:http').createServer((_, r) => r.end('image')).listen(process.env.PORT)";
    await manager.derive(image, [`CMD ${JSON.stringify(['node', '-e', program])}`]);
    const pushed = await manager.docker.getImage(image).push({ authconfig: {} });
    await new Promise((resolve) => manager.docker.modem.followProgress(pushed, resolve));
    const service = await createService(client, { name: 'image', configuration: { sourceType: 'image', image } });
    const queued = await queueDeploy(client, service.id);
    const live = await ended(client, service.id, queued.id);
    expect(live.status, live.error).to.equal('live');
    expect(live.commitSha).to.match(/^[0-9a-f]{64}$/);
    expect(live.commitMessage).to.equal(image);
    expect(await answerOf(service.url)).to.equal('image');
    const broken = await createService(client, {
      name: 'missing',
      configuration: { sourceType: 'image', image: image.replace('app', 'none') },
    });
    const failed = await ended(client, broken.id, (await queueDeploy(client, broken.id)).id);
    expect(failed.error).to.match(/^queued: .*team\/none:1 does not exist/);
    expect((await readDeployment(client, broken.id, failed.id)).status).to.equal('failed');
  });

  it('builds with a stand-in for Railpack if the worker has it', async () => {
    const { client } = platform;
    const program = "require('node:http').createServer((_, r) => r.end('made')).listen(process.env.PORT)";
    await manager.derive('local/made:latest', [`CMD ${JSON.stringify(['node', '-e', program])}`]);
    const railpack = await startRailpack(folder, manager, 'local/made:latest', ['made']);
    for (const worker of platform.workers) await worker.stop();
    try {
      const { buildkitHost: BUILDKIT_HOST, bin } = railpack;
      await platform.startWorker({ BUILDKIT_HOST, PATH: `${bin}:${platform.env.PATH ?? ''}` });
      const repository = await platform.repositoryOf({ Gemfile: '', 'app.rb': '' });
      const service = await createService(client, { name: 'ruby', configuration: { repository: repository.url } });
      await deploy(client, service.id);
      expect(await answerOf(service.url)).to.equal('made');
      const lines = (await readLogs(client, service.id)).map((line) => line.message);
      expect(lines).to.include.members(['Builds with Railpack', 'buildkit says done: Solve']);
    } finally {
      railpack.stop();
    }
  });

  it('waits for an engine that does not answer, and cancels meanwhile', async () => {
    const { client } = platform;
    const slow = `FROM ${NODE_IMAGE}\nRUN echo building now && sleep 15\nCOPY server.js .\nCMD ["node", "server.js"]\n`;
    const repository = await platform.repositoryOf({ ...answering('patient'), Dockerfile: slow });
    const configuration = { repository: repository.url, buildMethod: 'dockerfile' };
    const begun = async (name: string) => {
      const service = await createService(client, { name, configuration });
      const { id } = await queueDeploy(client, service.id, { clearCache: true });
      await said(service.id, 'building now');
      return { service, id };
    };
    const said = (serviceId: string, words: string) =>
      eventually(`"${words}" is in the log`, async () =>
        (await readLogs(client, serviceId)).some((line) => line.message.includes(words)),
      );
    await platform.database.db('workspaces').update({ configuration: { buildConcurrency: 2 } });
    const [kept, cancelled] = await Promise.all([begun('kept'), begun('cancelled')]);
    await manager.kill();
    for (const { service } of [kept, cancelled]) await said(service.id, 'a fault of the platform');
    await client.expect('POST', `/services/${cancelled.service.id}/deploys/${cancelled.id}/cancel`, {});
    expect((await ended(client, cancelled.service.id, cancelled.id)).status).to.equal('cancelled');
    await machines.boot(manager);
    const live = await ended(client, kept.service.id, kept.id, 150_000);
    expect(live.status, live.error).to.equal('live');
    expect(await answerOf(kept.service.url)).to.equal('patient');
  });
});
