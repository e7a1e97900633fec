import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { visit } from '../support/client.js';
import { deploy, readLogs, readService, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

/** `/burn` uses the processor for a short time. */
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

/** Tests of the number of replicas and of their usage, on one platform with short intervals. */
describe('The replicas of a service', function () {
  this.timeout(240_000);
  let platform: Platform;
  const env = { METRICS_SECONDS: '1', SCALING_QUIET_SECONDS: '6', SCALING_READY_SECONDS: '3' };
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

  /** Asks the platform: a host that does not measure replicas cannot scale them. */
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
