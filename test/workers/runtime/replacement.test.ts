import { expect } from 'chai';
import type { RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { eventually } from '../../support/processes.js';
import { ask, never, TestHost } from './host.js';

/** `/health` answers 500 after a request to `/sicken`, and from the beginning if SICK is set. */
const SERVER = `
let sick = process.env.SICK !== undefined;
require('node:http').createServer((request, response) => {
  if (request.url === '/sicken') sick = true;
  if (request.url === '/health' && sick) response.statusCode = 500;
  response.end(String(process.pid));
}).listen(process.env.PORT);`;

describe('A replica that fails its health check', () => {
  let host: TestHost;
  let runtime: RuntimeDriver;

  before(async () => {
    host = await TestHost.create({
      HEALTH_REPLACE_SECONDS: '1',
      RELEASE_TIMEOUT_SECONDS: '10',
      STOP_GRACE_SECONDS: '1',
    });
    runtime = await host.runtime();
  });
  after(() => host.destroy());

  async function release(replicas: number) {
    const spec = await host.app({
      program: SERVER,
      configuration: { healthCheckPath: '/health', replicas },
      live: true,
    });
    await runtime.release(spec, never);
    return spec;
  }
  const ids = async (spec: Parameters<TestHost['replicas']>[0]) => (await host.replicas(spec)).map((row) => row.id);

  it('is replaced by a new one that starts first, the log says why, and the check is always a recent one', async () => {
    const spec = await release(1);
    const [before] = await host.replicas(spec);
    await ask(before ?? { port: null }, '/sicken');
    await eventually('the service is unhealthy', async () => (await host.service(spec)).health_status === 'unhealthy');
    const { health_checked_at: first, runtime_detail: detail } = await host.service(spec);
    expect(detail).to.match(
      /^0 of 1 replicas ready; replica 1 does not pass its health check \(GET \/health answered 500/,
    );
    await eventually('a second one runs beside it', async () => (await host.replicas(spec)).length === 2);
    expect((await host.replicas(spec)).find((row) => row.id === before?.id)?.desired).to.equal('running');
    await eventually('only the new one is left', async () => {
      const rows = await host.replicas(spec);
      return rows.length === 1 && rows[0]?.id !== before?.id && rows[0]?.state === 'ready';
    });
    const [after] = await host.replicas(spec);
    expect(after).to.include({ position: 1, replaces: null, replacements: 1 });
    const service = await host.service(spec);
    expect(service).to.include({ health_status: 'ready', runtime_detail: '1 of 1 replicas ready' });
    expect(service.health_checked_at?.getTime()).to.be.greaterThan(first?.getTime() ?? 0);
    const lines = host.linesOf(spec).join('\n');
    expect(lines).to.match(
      /Replica 1 has failed its health check for \d+ s \(the last answer: GET \/health answered 500, expected 2xx or 3xx\): a new one starts/,
    );
    expect(lines).to.include('The new replica 1 is healthy: it takes the place');
    await runtime.stop(spec.deploymentId);
  });

  it('stays while the new ones fail too, is then restarted in its place, and comes back when the fault is mended', async function () {
    this.timeout(240_000);
    const spec = await release(2);
    const before = await ids(spec);
    // From now on, new replicas fail their health check.
    spec.environment.SICK = 'yes';
    for (const row of await host.replicas(spec)) await ask(row, '/sicken');
    await eventually('the new one was given up', async () =>
      host.linesOf(spec).some((line) => line.startsWith('The new replica') && line.includes('did not become healthy')),
    );
    // One replica is replaced at a time, so the other one and the failing one are still there.
    expect((await host.replicas(spec)).filter((row) => before.includes(row.id)).length).to.equal(2);
    expect((await host.service(spec)).runtime_detail).to.include('every replica fails its health check');
    await eventually('it is restarted in its place', async () =>
      host.linesOf(spec).some((line) => line.includes('because a new one beside it did not become healthy')),
    );
    delete spec.environment.SICK;
    await eventually('both are ready', async () => {
      const rows = (await host.replicas(spec)).filter((row) => row.desired === 'running');
      return rows.length === 2 && rows.every((row) => row.state === 'ready' && row.replaces === null);
    });
    expect((await host.service(spec)).runtime_detail).to.equal('2 of 2 replicas ready');
    // A scale and a restart find the positions unchanged.
    await runtime.scale(spec, 1, never);
    expect((await host.replicas(spec)).map((row) => row.position)).to.deep.equal([1]);
    await runtime.restart(spec, never);
    expect(await host.replicas(spec)).to.have.length(1);
    await runtime.stop(spec.deploymentId);
  });
});
