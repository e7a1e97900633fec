import { mkdtemp, rename, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { visit } from '../support/client.js';
import { createService, ended, queueDeploy, readLogs, type Service } from '../support/deployments.js';
import { Gate, PASS, reachOf } from '../support/gate.js';
import { ENGINES, type Platform, startPlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { createPlatformRepository, type GitServer, startGitServer } from '../support/repositories.js';

/** Waits at the gate in its build if a command has `pass build`, and before it listens if WAIT is set. */
const APP = {
  'package.json': '{"name":"app","version":"1.0.0","private":true}',
  ...PASS,
  'server.js': `
    const server = require('node:http').createServer((request, response) => response.end('resumed'));
    const gate = process.env.WAIT ? fetch(process.env.GATE + '/start').then((r) => r.text()) : Promise.resolve();
    gate.then(() => server.listen(process.env.PORT));
  `,
  Procfile: 'web: node server.js\n',
};

/** Sends git nothing but progress messages, because git gives up a server that is silent for half a minute. */
function sendProgress(response: ServerResponse, type: 'advertisement' | 'result'): void {
  response.writeHead(200, { 'Content-Type': `application/x-git-upload-pack-${type}` });
  response.write('000dpackfile\n');
  const timer = setInterval(() => response.write(`03e8\u0002${'waiting '.repeat(125).slice(5)}`), 500);
  response.on('close', () => clearInterval(timer));
}

// One queue engine is enough, because the records say where a worker goes on. faults.test.ts uses both.
describe('Killed at several points of each step', function () {
  this.timeout(240_000);
  let platform: Platform;
  let git: GitServer;
  let root: string;
  let gateUrl: string;
  const gate = new Gate();
  const services = new Map<string, { service: Service; deployment: string }>();

  before(async function () {
    this.timeout(240_000);
    gateUrl = await gate.start();
    root = await mkdtemp(join(tmpdir(), 'ranvier-resume-'));
    for (const point of ['resolve', 'fetch']) {
      const repository = await createPlatformRepository(APP);
      await rename(repository.folder, join(root, point));
    }
    // The git server never answers the first request to one repository, and the request for commits to the other.
    const asked = new Map<string, number>();
    git = await startGitServer(root, (_, response, url) => {
      const number = (asked.get(url.pathname) ?? 0) + 1;
      asked.set(url.pathname, number);
      const held =
        url.pathname === '/resolve/info/refs'
          ? number === 1
          : url.pathname === '/fetch/git-upload-pack' && number === 2;
      if (held) {
        gate.visits.set(url.pathname.split('/')[1] ?? '', 1);
        sendProgress(response, url.pathname.endsWith('/refs') ? 'advertisement' : 'result');
      }
      return held;
    });
    platform = await startPlatform({
      engine: ENGINES[0] ?? 'postgres',
      workers: 1,
      env: { WORKER_CONCURRENCY: '8', ...reachOf(gateUrl) },
    });
    await platform.database
      .db('workspaces')
      .update({ configuration: { buildConcurrency: 8, overlappingDeploys: 'wait' } });
  });
  after(async function () {
    this.timeout(240_000);
    await platform?.stop();
    gate.close();
    await git?.close();
    await rm(root, { recursive: true, force: true });
  });

  async function begin(point: string, configuration: object, variables: Record<string, string> = {}): Promise<void> {
    const { client } = platform;
    const service = await createService(client, {
      name: point,
      configuration,
      variables: Object.entries({ GATE: gateUrl, ...variables }).map(([key, value]) => ({ key, value })),
    });
    services.set(point, { service, deployment: (await queueDeploy(client, service.id)).id });
  }

  async function row(point: string) {
    return platform.database
      .db('deployments')
      .where({ id: services.get(point)?.deployment })
      .first();
  }

  it('another worker goes on with each from the step it was in', async () => {
    const repository = await createPlatformRepository(APP);
    await begin('resolve', { repository: `${git.origin}/resolve` });
    await begin('fetch', { repository: `${git.origin}/fetch` });
    await begin('build', { repository: repository.url, buildCommand: 'node pass.js build' });
    await begin('pre-deploy', { repository: repository.url, preDeployCommand: 'node pass.js pre-deploy' });
    await begin('start', { repository: repository.url, buildCommand: 'echo built once' }, { WAIT: 'yes' });
    for (const point of services.keys()) {
      await eventually(`${point} is under way`, () => gate.visits.has(point));
    }
    const [victim] = platform.workers;
    // The second worker is stopped, so that the first one takes the last deployment too.
    const successor = await platform.startWorker();
    successor.kill('SIGSTOP');

    // The edge is stopped, so that it does not confirm the moved route of this deployment.
    const edge = platform.processes.find(({ name }) => name === 'edge');
    await begin('switched', { repository: repository.url });
    await eventually('its release begins', async () => (await row('switched')).status === 'releasing');
    edge?.kill('SIGSTOP');
    await eventually('its route has moved', async () => (await row('switched')).went_live_at);
    const before = new Map<string, { fence: number; steps: { name: string }[] }>();
    for (const point of services.keys()) before.set(point, await row(point));
    await victim?.stop('SIGKILL');
    successor.kill('SIGCONT');
    edge?.kill('SIGCONT');
    for (const [point, { fence }] of before) {
      await eventually(
        `the other worker has taken "${point}"`,
        async () => {
          const { fence: now, status, dispatches, due_at, lease_expires_at } = await row(point);
          if (now !== fence) return true;
          throw new Error(JSON.stringify({ fence, status, dispatches, due_at, lease_expires_at }));
        },
        180_000,
      );
    }
    gate.open();

    for (const [point, { service, deployment: id }] of services) {
      const deployment = await ended(platform.client, service.id, id);
      expect(deployment, point).to.include({ status: 'live', error: '' });
      expect((await visit(service.url, platform.edgePort)).body, point).to.equal('resumed');
      // No step began again: what had ended before the kill has kept its times.
      const names = deployment.steps.map((step) => step.name);
      expect(names, point).to.deep.equal(['queued', 'build', 'release']);
      const known = (before.get(point)?.steps ?? []).filter((step) => 'finishedAt' in step && step.finishedAt);
      expect(deployment.steps.slice(0, known.length), point).to.deep.equal(known);
    }
    await repository.remove();
  });

  it('a finished build is not built again, and a replica that was starting is not started twice', async () => {
    const { service } = services.get('start') ?? {};
    const log = await readLogs(platform.client, service?.id ?? '');
    expect(log.filter((line) => line.message === 'built once')).to.have.length(1);
    expect(gate.visits.get('start')).to.equal(1);
  });

  it('a build that a killed worker had not ended is done again, once; a pre-deploy command goes on without its worker', async () => {
    expect(gate.visits.get('build')).to.equal(2);
    expect(gate.visits.get('pre-deploy')).to.equal(1);
  });
});
