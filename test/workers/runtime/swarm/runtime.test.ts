import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { acknowledgeRoutes } from '../../../../shared/routing/store.js';
import { ReleaseError } from '../../../../workers/failures/explained-errors.js';
import type { RuntimeDriver } from '../../../../workers/runtime/runtime-driver.js';
import { NO_DOCKER, NODE_IMAGE } from '../../../support/docker.js';
import { eventually } from '../../../support/processes.js';
import { never } from '../host.js';
import { expectRunAttempts } from '../run-attempts.js';
import { askSwarm, SwarmHost } from './host.js';

async function failure(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}

describe(`Swarm runtime${NO_DOCKER === '' ? '' : ` (${NO_DOCKER})`}`, () => {
  let host: SwarmHost;
  let runtime: RuntimeDriver;

  before(async function () {
    if (NO_DOCKER !== '') this.skip();
    host = await SwarmHost.create();
    runtime = await host.runtime();
  });
  after(async () => {
    if (NO_DOCKER === '') await host.destroy();
  });

  it('explains why tasks do not start, and what was missing at the timeout', async () => {
    await host.manager.derive('local/sick', ['HEALTHCHECK --interval=1s --retries=1 CMD echo the disk is full; false']);
    const impatient = await host.runtime({ releaseTimeoutSeconds: 15 });
    const waiting = {
      silent: host.app({ program: 'setInterval(() => {}, 1000)' }),
      nowhere: host.app({ configuration: { region: 'local' } }),
    };
    const failing = {
      'no image': host.app({ image: 'local/missing:1' }),
      'no reference': host.app({ image: 'Not A Reference' }),
      'exit code': host.app({
        program: `console.error('cannot find the database at ' + process.env.SECRET); process.exit(3)`,
        environment: { SECRET: 'postgres://hidden' },
      }),
      memory: host.app({ program: 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1))' }),
      command: host.app({ command: 'exec /no/such/program' }),
      worker: host.app({ kind: 'worker', command: 'exit 4' }),
      sick: host.app({ image: 'local/sick' }),
    };
    const said = new Map<string, string>();
    const releaseAll = (apps: Record<string, ReturnType<typeof host.app>>, driver: RuntimeDriver) =>
      Promise.all(
        Object.entries(apps).map(async ([name, app]) => {
          const spec = await app;
          const error = await failure(driver.release(spec, never));
          expect(error).to.be.instanceOf(ReleaseError);
          said.set(name, error.message);
          await driver.stop(spec.deploymentId);
        }),
      );
    await releaseAll(failing, runtime);
    // They start after the others, because their time limit is short.
    await releaseAll(waiting, impatient);
    expect(said.get('no image')).to.equal('replica 1 could not be started: No such image: local/missing:1');
    expect(said.get('no reference')).to.match(/^replica 1 could not be started: .*Not A Reference/);
    expect(said.get('exit code')).to.equal(
      'replica 1 exited with code 3 before it was healthy; its last output: cannot find the database at ***',
    );
    // The event that reports the lack of memory may come later than the end of the task.
    expect(said.get('memory')).to.match(
      /^replica 1 was (killed: it used more than the 512 MB of memory its plan allows|ended by SIGKILL, which the kernel sends when memory has run out)/,
    );
    expect(said.get('command')).to.match(
      /^replica 1 exited with code 127 before it was healthy; its last output: .*not found/,
    );
    expect(said.get('worker')).to.equal('replica 1 exited with code 4 before it was healthy; it printed nothing');
    expect(said.get('sick')).to.match(
      /^replica 1 was ended: the image's own HEALTHCHECK failed \(the disk is full\) before it was healthy/,
    );
    expect(said.get('silent')).to.match(/^nothing answered on port 8000 \(PORT\) within 15 s: connection refused/);
    expect(said.get('nowhere')).to.match(
      /^replica 1 was not started within 15 s: no suitable node \(scheduling constraints not satisfied on 1 node\); region "local" is made of/,
    );
  });

  it('runs a release with its plan and variables, updates the route, and ends it after the edges have drained it', async () => {
    const { db } = host.database;
    const edge = randomUUID();
    const spec = await host.app({
      live: true,
      program: `
        process.on('SIGTERM', () => { console.log('ends'); process.exit(0); });
        require('node:http').createServer((_, r) => r.end(process.env.GREETING + process.env.PORT)).listen(process.env.PORT)`,
      // Swarm must not run these as templates: one would tell about the node, one would never end.
      environment: { GREETING: "it's {{.Node.Hostname}}{{{x}}} " },
      configuration: { port: 8123 },
    });
    await runtime.release(spec, never);
    const replica = await host.replica(spec);
    expect(await askSwarm(replica)).to.equal("it's {{.Node.Hostname}}{{{x}}} 8123");
    const { health_status, route_version } = await host.service(spec);
    expect(health_status).to.equal('ready');
    expect(route_version).to.be.greaterThan(0);
    const [service] = await host.swarmServices(spec);
    expect(service?.Spec?.TaskTemplate?.Resources?.Limits).to.deep.equal({
      MemoryBytes: 512 * 1024 * 1024,
      NanoCPUs: 5e8,
      Pids: 128,
    });

    await db.raw(`insert into edges (id, host, pid, seen_at) values (?, 'test', 1, now() + interval '1 minute')`, [
      edge,
    ]);
    const stopped = runtime.stop(spec.deploymentId);
    await eventually('it is to be stopped', async () => (await host.replica(spec)).desired === 'stopped');
    expect(await askSwarm(replica)).to.equal("it's {{.Node.Hostname}}{{{x}}} 8123");
    const version = (await host.service(spec)).route_version;
    await acknowledgeRoutes(db, edge, [{ serviceId: spec.serviceId, version }]);
    await stopped;
    await db.raw('delete from edges where id = ?', [edge]);
    expect(await host.swarmServices(spec)).to.deep.equal([]);
    expect(host.linesOf(spec)).to.deep.equal(['ends']);
  });

  it('follows a replica that dies to the task that Swarm starts in its place, and its output with it', async () => {
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const first = await host.replica(spec);
    await askSwarm(first, '/say/one');
    await askSwarm(first, '/die');
    const dead = await eventually('the exit is seen', async () => {
      const service = await host.service(spec);
      return service.health_status === 'unhealthy' && service;
    });
    expect(dead.runtime_detail).to.match(
      /^0 of 1 replicas ready; replica 1 exited with code 3, starts again in [012] s$/,
    );
    const again = await eventually('it is ready again', async () => {
      const row = await host.replica(spec);
      return row.state === 'ready' && row.restarts === 1 && row;
    });
    expect(again.task_id).to.not.equal(first.task_id);
    await askSwarm(again, '/say/two');
    await eventually('all is in the log', async () => host.linesOf(spec).includes('two'));
    expect(host.linesOf(spec)).to.deep.equal(['begins 8000', 'one', 'begins 8000', 'two']);
    await runtime.stop(spec.deploymentId);
  });

  it('services of one environment reach each other by name, others do not', async () => {
    const [environmentId, otherId] = [randomUUID(), randomUUID()];
    const private_ = await host.app({ kind: 'private', environmentId });
    const [neighbour, stranger, loner] = await Promise.all([
      host.app({ environmentId }),
      host.app({ environmentId: otherId }),
      host.app({ environmentId, configuration: { privateNetworking: false } }),
    ]);
    const all = [private_, neighbour, stranger, loner];
    await Promise.all(all.map((spec) => runtime.release(spec, never)));
    const path = `/ask/${private_.slug}:8000/`;
    const [id, near, far, alone] = await Promise.all([
      askSwarm(await host.replica(private_)),
      askSwarm(await host.replica(neighbour), path),
      askSwarm(await host.replica(stranger), path),
      askSwarm(await host.replica(loner), path),
    ]);
    expect(near).to.equal(id);
    expect([far, alone].join()).to.match(/^(ENOTFOUND|EAI_AGAIN|ABORT_ERR),(ENOTFOUND|EAI_AGAIN|ABORT_ERR)$/);
    // The service cannot be reached by its address in the private network either.
    const [service] = await host.swarmServices(private_);
    const [task] = await host.manager.docker.listTasks({ filters: { service: [service?.ID ?? ''] } });
    const address = task?.NetworksAttachments?.[0]?.Addresses?.[0]?.split('/')[0];
    expect(await askSwarm(await host.replica(neighbour), `/ask/${address}:8000/`)).to.equal(id);
    const blocked = await askSwarm(await host.replica(stranger), `/ask/${address}:8000/`).catch(() => 'no answer');
    expect(blocked).to.not.equal(id);
    await Promise.all(all.map((spec) => runtime.stop(spec.deploymentId)));
  });

  it('carries out the attempt of a run once, with its output in the log, and tells how it ended', async () => {
    await expectRunAttempts(host, runtime);
  });

  it('the next leader adopts what runs, continues its log, and removes only our services without a row', async () => {
    const { docker } = host.manager;
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const replica = await host.replica(spec);
    const identity = await askSwarm(replica, '/say/one');
    await eventually('the line is in the log', async () => host.linesOf(spec).includes('one'));
    await host.closeRuntimes();

    const [service] = await host.swarmServices(spec);
    const labels = service?.Spec?.Labels ?? {};
    const task = { ContainerSpec: { Image: NODE_IMAGE, Command: ['sleep', '600'] } };
    const foreign = { Name: 'foreign', Labels: { 'ranvier.replica': randomUUID() }, TaskTemplate: task };
    const other = { ...foreign, Name: 'other', Labels: { ...foreign.Labels, 'ranvier.installation': randomUUID() } };
    const forgotten = { ...foreign, Name: 'forgotten', Labels: { ...labels, 'ranvier.replica': randomUUID() } };
    for (const made of [foreign, other, forgotten]) await docker.createService(made);
    expect(await askSwarm(replica, '/say/two')).to.equal(identity);

    runtime = await host.runtime();
    await askSwarm(replica, '/say/three');
    await eventually('all is in the log', async () => host.linesOf(spec).includes('three'));
    expect(host.linesOf(spec)).to.deep.equal(['begins 8000', 'one', 'two', 'three']);
    const adopted = await host.replica(spec);
    expect([adopted.task_id, adopted.state, adopted.restarts]).to.deep.equal([replica.task_id, 'ready', 0]);
    const names = async () => (await docker.listServices()).map(({ Spec }) => Spec?.Name).sort();
    await eventually('the forgotten one is gone', async () => !(await names()).includes('forgotten'));
    expect(await names()).to.deep.equal([service?.Spec?.Name, 'foreign', 'other'].sort());
    await runtime.stop(spec.deploymentId);
  });
});
