import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { visit } from '../support/client.js';
import { deploy, readLogs, readService, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

const SERVER = `
  require('node:http').createServer((request, response) => {
    if (request.url === '/burn') for (const until = Date.now() + 40; Date.now() < until; );
    response.end(String(process.pid));
  }).listen(process.env.PORT);
`;
const WORKER = `
  console.log('PORT is ' + process.env.PORT);
  setInterval(() => {}, 1000);
`;

interface Metrics {
  stepSeconds: number;
  series: { name: string; unit: string; points: [string, number][] }[];
}

describe('The replicas of a service', function () {
  this.timeout(240_000);
  let platform: Platform;
  const env = {
    METRICS_SECONDS: '1',
    SCALING_QUIET_SECONDS: '6',
    SCALING_READY_SECONDS: '3',
    SLEEP_SECONDS: '2',
  };
  usePlatform({ engine: 'postgres', workers: 2, env }, (started) => {
    platform = started;
  });

  async function serviceOf(name: string, kind: string, program: string, configuration: object = {}): Promise<Service> {
    const files = { 'index.js': program, 'package.json': '{ "main": "index.js" }' };
    const { service } = await platform.serviceOf(
      name,
      files,
      { startCommand: 'node index.js', ...configuration },
      kind,
    );
    await deploy(platform.client, service.id);
    return service;
  }

  const metricsOf = async ({ id }: Service) =>
    (await platform.client.expect<{ metrics: Metrics }>('GET', `/services/${id}/metrics?hours=1`)).metrics;
  const values = ({ series }: Metrics, name: string) =>
    series.find((one) => one.name === name)?.points.map(([, value]) => value) ?? [];
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

  const endFrozen = async ({ id }: Service) => {
    const { db } = platform.database;
    const [visited_at, asleep_since] = [2, 1].map((days) => new Date(Date.now() - days * 86_400_000));
    await db('service_visits').where({ service_id: id }).update({ visited_at });
    await db('services').where({ id }).whereNotNull('asleep_since').update({ asleep_since });
  };

  const running = ({ id }: Service) =>
    platform.database.db('replicas').where({ service_id: id }).whereNot({ state: 'stopped' });

  /** Returns whether the host measures replicas, which scaling needs. */
  async function isMeasured(): Promise<boolean> {
    const headers = { Authorization: `Bearer ${platform.client.key}` };
    const answer = await fetch(`${platform.client.baseUrl}/catalog`, { headers });
    const { capabilities } = (await answer.json()) as { capabilities: { automaticScaling: boolean } };
    return capabilities.automaticScaling;
  }

  it('follow the load that visitors make, within the bounds, and no request fails', async function () {
    if (!(await isMeasured())) this.skip();
    const service = await serviceOf('scales', 'web', SERVER, { scaling: 'auto', maxReplicas: 2, targetCpu: 20 });
    const statuses = new Map<number, number>();
    let load = 'heavy';
    const visitors = Array.from({ length: 2 }, async (_, visitor) => {
      while (load !== 'none') {
        if (load === 'light' && visitor > 0) break;
        const path = load === 'heavy' ? '/burn' : '/';
        const { status } = await visit(service.url, platform.edgePort, path).catch(() => ({ status: 0 }));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(load === 'light' ? 200 : 40);
      }
    });
    const ready = async () =>
      (await platform.database.db('replicas').where({ service_id: service.id, desired: 'running', state: 'ready' }))
        .length;
    const seen = async () => JSON.stringify({ ready: await ready(), metrics: await metricsOf(service) });
    await eventually('a second replica is ready', async () => {
      if ((await ready()) === 2) return true;
      throw new Error(await seen());
    });
    load = 'light';
    await eventually('one replica is left', async () => {
      if ((await ready()) === 1) return true;
      throw new Error(await seen());
    });
    load = 'none';
    await Promise.all(visitors);

    const decisions = (await readLogs(platform.client, service.id, '&source=system'))
      .map(({ message }) => message)
      .filter((message) => message.startsWith('Scales'));
    expect(decisions[0]).to.match(
      /^Scales from 1 to 2 replicas: processor \d+ % of the plan \(target 20 %\), memory \d+ % \(target 80 %\), averaged over 1 of 1 replicas; wanted are 2, between 1 and 2$/,
    );
    expect(decisions[1]).to.match(/^Scales from 2 to 1 replicas/);
    expect([...statuses.keys()]).to.deep.equal([200]);

    const requests = sum([...statuses.values()]);
    await eventually('every request is counted', async () => {
      const counted = sum(values(await metricsOf(service), 'requests_2xx'));
      if (counted === requests) return true;
      throw new Error(`${counted} of ${requests}`);
    });
    const metrics = await metricsOf(service);
    expect(metrics.stepSeconds).to.equal(15);
    expect(Math.max(...values(metrics, 'replicas'))).to.be.above(1);
    expect(Math.max(...values(metrics, 'cpu'))).to.be.above(5);
    expect(Math.max(...values(metrics, 'memory'))).to.be.within(1, 100);
    expect(Math.max(...values(metrics, 'latency_p99'))).to.be.above(20);
    expect(sum(values(metrics, 'bytes_out'))).to.be.above(requests * 100);
    expect(sum(values(metrics, 'requests_5xx'))).to.equal(0);
  });

  it('are frozen while nobody visits, run on where they were, and end later', async () => {
    const program = `
      const started = process.hrtime()[1];
      let count = 0;
      require('node:http').createServer(({ method }, response) => {
        if (method === 'GET') count += 1;
        response.end(started + ' ' + count);
      }).listen(process.env.PORT);`;
    const service = await serviceOf('dozes', 'web', program, { scaling: 'auto', minReplicas: 0 });
    const read = () => readService(platform.client, service.id);
    const answer = async () => (await visit(service.url, platform.edgePort)).body.split(' ').map(Number);
    const [started] = await answer();
    await eventually('it is frozen', async () => (await read()).healthStatus === 'unknown');
    const frozen = await read();
    expect(frozen).to.include({ frozen: true, runtimeDetail: 'frozen until the next request' });
    expect(frozen.asleepSince).to.be.a('string');
    expect(await answer(), 'the same process, with its memory').to.deep.equal([started, 2]);
    expect((await read()).lastSleep?.from).to.equal(frozen.asleepSince);

    await eventually('it is frozen again', async () => (await read()).healthStatus === 'unknown');
    // Another worker takes over and freezes the replica again, which keeps its process.
    for (const worker of platform.processes.filter(({ name, ended }) => name === 'worker' && !ended)) {
      await worker.stop('SIGKILL');
      await platform.startWorker();
    }
    expect(await answer()).to.deep.equal([started, 3]);
    await eventually('it has ended', async () => {
      await endFrozen(service);
      return (await running(service)).length === 0;
    });
    const [other, count] = await answer();
    expect(count).to.equal(1);
    expect(other).to.not.equal(started);
  });

  it('are taken away while nobody visits, and the request that comes next is answered', async () => {
    const service = await serviceOf('sleeper', 'web', SERVER, { scaling: 'auto', minReplicas: 0 });
    const asleep = async () => (await readService(platform.client, service.id)).asleepSince !== undefined;
    const request = () => visit(service.url, platform.edgePort).then(({ status }) => status);
    for (const visitors of [1, 20]) {
      await eventually('the service has ended', async () => {
        await endFrozen(service);
        return (await asleep()) && (await running(service)).length === 0;
      });
      expect(await Promise.all(Array.from({ length: visitors }, request))).to.deep.equal(Array(visitors).fill(200));
    }
    expect(await asleep()).to.equal(false);
    // The pauses are about as long as the time after which the service falls asleep.
    for (let n = 0; n < 8; n++) {
      await delay(1_500 + 200 * n);
      expect(await request(), `request ${n}`).to.equal(200);
    }
    const messages = (await readLogs(platform.client, service.id, '&source=system')).map(({ message }) => message);
    expect(messages.filter((text) => text.startsWith('Falls asleep after 2 s')).length).to.be.above(1);
    expect(
      messages.filter((text) => /^A request wakes the service, which slept for \d+ s$/.test(text)).length,
    ).to.be.above(1);
  });

  it('stay while a request runs or a WebSocket is open, and come back with a deployment', async () => {
    const program = `
      const server = require('node:http').createServer((request, response) => {
        setTimeout(() => response.end('done'), request.url === '/slow' ? 6000 : 0);
      });
      server.on('upgrade', (_, socket) => socket.on('end', () => socket.end()).write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n'));
      server.listen(process.env.PORT);`;
    const service = await serviceOf('busy', 'web', program, { scaling: 'auto', minReplicas: 0 });
    const asleep = async () => (await readService(platform.client, service.id)).asleepSince !== undefined;
    expect((await visit(service.url, platform.edgePort, '/slow')).body).to.equal('done');
    const socket = connect(platform.edgePort, '127.0.0.1');
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
    );
    const [answer] = await once(socket, 'data');
    expect(String(answer)).to.contain('101');
    await delay(6_000);
    expect(await asleep()).to.equal(false);
    expect(socket.readyState).to.equal('open');
    socket.destroy();
    await eventually('it sleeps', asleep);
    await deploy(platform.client, service.id);
    expect((await visit(service.url, platform.edgePort)).body).to.equal('done');
  });

  it('of a private service have no address at the edge', async () => {
    const service = await serviceOf('secluded', 'private', SERVER);
    const { url, healthStatus } = await readService(platform.client, service.id);
    expect({ url, healthStatus }).to.deep.equal({ url: '', healthStatus: 'ready' });
    const answer = await visit('http://secluded.localhost', platform.edgePort);
    expect(answer.status).to.equal(404);
    expect(answer.body).to.contain('unknown_host');
  });

  it('of a worker listen nowhere and are not probed', async () => {
    const service = await serviceOf('background', 'worker', WORKER, { healthCheckPath: '/health', replicas: 2 });
    expect(await readService(platform.client, service.id)).to.include({ url: '', healthStatus: 'ready' });
    expect((await visit('http://background.localhost', platform.edgePort)).status).to.equal(404);
    const rows = await platform.database.db('replicas').where({ service_id: service.id }).select('port', 'state');
    expect(rows).to.deep.equal(Array(2).fill({ port: null, state: 'ready' }));
    await eventually('it has no PORT', async () =>
      (await readLogs(platform.client, service.id, '&source=runtime')).some(
        ({ message }) => message === 'PORT is undefined',
      ),
    );
    if (!(await isMeasured())) return;
    await eventually('it is measured', async () => values(await metricsOf(service), 'memory').some((used) => used > 0));
  });
});
