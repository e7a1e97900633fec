import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { acknowledgeRoutes } from '../../../shared/routing/store.js';
import { ReleaseError } from '../../../workers/failures/explained-errors.js';
import { restingPorts } from '../../../workers/replicas/port-store.js';
import type { RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { eventually } from '../../support/processes.js';
import { ask, never, TestHost } from './host.js';
import { expectRunAttempts } from './run-attempts.js';

async function failure(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}

function portOf(server: Server): number | null {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : null;
}

describe('Process runtime', () => {
  let host: TestHost;
  let runtime: RuntimeDriver;

  before(async () => {
    host = await TestHost.create();
    runtime = await host.runtime();
  });
  after(() => host.destroy());

  it('starts a release, which answers on its port with the variables of the service', async () => {
    const spec = await host.app({
      program: `
        console.log(process.env.GREETING, process.env.RANVIER_SERVICE_ID, process.env.DATABASE_URL);
        require('node:http').createServer((_, r) => r.end(process.env.GREETING)).listen(process.env.PORT)`,
      environment: { GREETING: "it's" },
    });
    await runtime.release(spec, never);
    const [replica] = await host.replicas(spec);
    expect(await ask(replica ?? { port: null })).to.equal("it's");
    await eventually('the line is in the log', async () =>
      host.linesOf(spec).includes(`it's ${spec.serviceId} undefined`),
    );
    await runtime.stop(spec.deploymentId);
  });

  it('updates the health of the service and the route with every change of a live release', async () => {
    const spec = await host.app({ configuration: { replicas: 2 }, live: true });
    await runtime.release(spec, never);
    const ready = await host.service(spec);
    expect(ready.health_status).to.equal('ready');
    expect(ready.runtime_detail).to.equal('2 of 2 replicas ready');
    expect(ready.route_version).to.be.greaterThan(0);
    await runtime.stop(spec.deploymentId);
    expect((await host.service(spec)).route_version).to.be.greaterThan(ready.route_version);
  });

  it('names the exit code and the last output of a release that was never healthy', async () => {
    const spec = await host.app({
      program: `console.error('cannot find the database at ' + process.env.SECRET); process.exit(3)`,
      environment: { SECRET: 'postgres://hidden' },
    });
    const error = await failure(runtime.release(spec, never));
    expect(error).to.be.instanceOf(ReleaseError);
    expect(error.message).to.equal(
      'replica 1 exited with code 3 before it was healthy; its last output: cannot find the database at ***',
    );
    const [row] = await host.replicas(spec);
    expect(row?.state).to.equal('exited');
    expect(row?.next_start_at).to.equal(null);
    await runtime.stop(spec.deploymentId);
  });

  it('names used up memory as the cause of an end', async function () {
    if (host.sandbox.level === 'none') this.skip();
    const spec = await host.app({
      program: 'const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1))',
      configuration: { plan: 'free' },
    });
    const error = await failure(runtime.release(spec, never));
    expect(error.message).to.match(/^replica 1 was killed: it used more than the 512 MB of memory its plan allows/);
    await runtime.stop(spec.deploymentId);
  });

  it('rejects at once when it is aborted', async () => {
    const spec = await host.app({ program: 'setInterval(() => {}, 1000)' });
    const controller = new AbortController();
    const released = runtime.release(spec, controller.signal);
    await eventually('the replica starts', async () => (await host.replicas(spec))[0]?.pid);
    controller.abort(new Error('cancelled'));
    expect((await failure(released)).message).to.equal('cancelled');
    await runtime.stop(spec.deploymentId);
    expect(await host.replicas(spec)).to.deep.equal([]);
  });

  it('restarts a replica that dies after it was ready, and shows that meanwhile', async () => {
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const [first] = await host.replicas(spec);
    await ask(first ?? { port: null }, '/die');
    const dead = await eventually('the exit is seen', async () => {
      const service = await host.service(spec);
      return service.health_status === 'unhealthy' && service;
    });
    expect(dead.runtime_detail).to.match(
      /^0 of 1 replicas ready; replica 1 exited with code 3, starts again in [012] s$/,
    );
    const again = await eventually('it is ready again', async () => {
      const [row] = await host.replicas(spec);
      return row?.state === 'ready' && row.restarts === 1 && row;
    });
    expect(await ask(again)).to.be.a('string');
    expect((await host.service(spec)).health_status).to.equal('ready');
    await runtime.stop(spec.deploymentId);
  });

  it('scales up and down and keeps the replicas that stay', async () => {
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const [first] = await host.replicas(spec);
    await runtime.scale(spec, 3, never);
    const three = await host.replicas(spec);
    expect(three.map((row) => [row.position, row.state])).to.deep.equal([
      [1, 'ready'],
      [2, 'ready'],
      [3, 'ready'],
    ]);
    expect(three[0]?.pid).to.equal(first?.pid);
    await runtime.scale(spec, 1, never);
    expect((await host.replicas(spec)).map((row) => row.pid)).to.deep.equal([first?.pid]);
    await runtime.scale(spec, 2, never);
    expect(await host.replicas(spec)).to.have.length(2);
    await runtime.stop(spec.deploymentId);
  });

  it('stops a replica only after every edge has drained it', async () => {
    const { db } = host.database;
    const edge = randomUUID();
    const spec = await host.app({ configuration: { replicas: 2 }, live: true });
    await runtime.release(spec, never);
    await db.raw(`insert into edges (id, host, pid, seen_at) values (?, 'test', 1, now() + interval '1 minute')`, [
      edge,
    ]);
    const scaled = runtime.scale(spec, 1, never);
    const leaving = await eventually('it is to be stopped', async () => {
      return (await host.replicas(spec)).find((row) => row.desired === 'stopped');
    });
    expect(await ask(leaving)).to.be.a('string');
    const { route_version } = await host.service(spec);
    await acknowledgeRoutes(db, edge, [{ serviceId: spec.serviceId, version: route_version - 1 }]);
    expect(await ask(leaving)).to.be.a('string');
    await acknowledgeRoutes(db, edge, [{ serviceId: spec.serviceId, version: route_version }]);
    await scaled;
    await db.raw('delete from edges where id = ?', [edge]);
    expect((await host.replicas(spec)).map((row) => row.position)).to.deep.equal([1]);
    await runtime.stop(spec.deploymentId);
  });

  it('gives nobody the port of an ended replica while an edge may still send requests to it', async () => {
    const { db } = host.database;
    const edge = randomUUID();
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const port = (await host.replicas(spec))[0]?.port ?? 0;
    // The new edge below has acknowledged nothing, so ports that rest already would go on resting.
    await db('resting_ports').delete();
    await db.raw(`insert into edges (id, host, pid, seen_at) values (?, 'test', 1, now() + interval '1 minute')`, [
      edge,
    ]);
    await ask({ port }, '/die');
    const again = await eventually('it is ready again', async () => {
      const [row] = await host.replicas(spec);
      return row?.state === 'ready' && row.restarts === 1 && row;
    });
    expect(await restingPorts(db, host.hostId)).to.deep.equal([port]);
    expect(again.port).to.not.equal(port);
    const { route_version } = await host.service(spec);
    await acknowledgeRoutes(db, edge, [{ serviceId: spec.serviceId, version: route_version }]);
    expect(await restingPorts(db, host.hostId)).to.deep.equal([]);
    await db.raw('delete from edges where id = ?', [edge]);
    await runtime.stop(spec.deploymentId);
  });

  it('takes another port, or fails with the reason, if another process listens on the port of a replica', async () => {
    const { db } = host.database;
    const spec = await host.app({ live: true, program: 'setInterval(() => {}, 1000)' });
    const released = runtime.release(spec, never).then(
      () => '',
      (error: Error) => error.message,
    );
    const thieves: Server[] = [];
    const ended = eventually('the start has failed', async () => {
      const [row] = await db('replicas').where({ deployment_id: spec.deploymentId });
      if (row?.port && row.pid !== null && !thieves.some((thief) => portOf(thief) === row.port)) {
        const thief = createServer().on('error', () => undefined);
        await new Promise<void>((resolve) => thief.listen(row.port, '127.0.0.1', resolve));
        thieves.push(thief);
      }
      return row?.state === 'exited';
    });
    await ended;
    const message = await released;
    for (const thief of thieves) thief.close();
    expect(message).to.match(/^replica 1 lost its port \d+ to another process of this host before it was healthy/);
    expect(thieves).to.have.length(4);
    await runtime.stop(spec.deploymentId);
  });

  it('a restart leaves no moment without a replica that answers', async () => {
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const before = await host.replicas(spec);
    let restarting = true;
    let asked = 0;
    const failures: string[] = [];
    const asking = (async () => {
      while (restarting) {
        const ready = (await host.replicas(spec)).filter((row) => row.state === 'ready' && row.desired === 'running');
        const [replica] = ready;
        if (!replica) failures.push('no replica is ready');
        else await ask(replica).catch((error) => failures.push(String(error.cause ?? error)));
        asked++;
      }
    })();
    await runtime.restart(spec, never);
    restarting = false;
    await asking;
    const after = await host.replicas(spec);
    expect(after).to.have.length(1);
    expect(after[0]?.id).to.not.equal(before[0]?.id);
    expect(asked).to.be.greaterThan(5);
    // A replica may stop between the query and the request. An edge would try another replica.
    expect(failures.filter((text) => !text.includes('ECONNREFUSED'))).to.deep.equal([]);
    await runtime.stop(spec.deploymentId);
  });

  it('keeps the old replicas when the new ones of a restart fail', async () => {
    const spec = await host.app({
      program: `
        const fs = require('node:fs');
        if (fs.existsSync(process.env.FLAG)) process.exit(9);
        require('node:http').createServer((_, r) => r.end('old')).listen(process.env.PORT)`,
      command: 'node server.js',
      environment: { FLAG: '/usr/share/ranvier-test-flag' },
      live: true,
    });
    await runtime.release(spec, never);
    const [old] = await host.replicas(spec);
    spec.environment.FLAG = '/etc/passwd';
    const error = await failure(runtime.restart(spec, never));
    expect(error.message).to.match(/^replica 1 exited with code 9/);
    const rows = await host.replicas(spec);
    expect(rows.map((row) => row.id)).to.deep.equal([old?.id]);
    expect(await ask(old ?? { port: null })).to.equal('old');
    await runtime.stop(spec.deploymentId);
  });

  it('lets an application finish on TERM and stores its last output in the log', async () => {
    const spec = await host.app();
    await runtime.release(spec, never);
    await runtime.stop(spec.deploymentId);
    expect(host.linesOf(spec).at(-1)).to.equal('ends');
  });

  it('uses the port on which the application listens instead, of several the one that answers HTTP', async () => {
    const spec = await host.app({
      program: `
        require('node:net').createServer((socket) => socket.on('error', () => undefined)).listen(0);
        const server = require('node:http').createServer((_, response) => response.end('found'));
        server.listen(0, () => console.log(server.address().port))`,
    });
    await runtime.release(spec, never);
    const [row] = await host.replicas(spec);
    const said = await eventually('the line', async () => host.linesOf(spec)[0]);
    expect(String(row?.port)).to.equal(said);
    expect(row?.given_port).to.not.equal(row?.port);
    expect(await ask(row ?? { port: null })).to.equal('found');
    await runtime.stop(spec.deploymentId);
  });

  it('takes a background worker as ready after it has run for a second', async () => {
    const spec = await host.app({ kind: 'worker', program: 'setInterval(() => {}, 1000)' });
    await runtime.release(spec, never);
    const [row] = await host.replicas(spec);
    expect(row?.state).to.equal('ready');
    expect(row?.port).to.equal(null);
    await runtime.stop(spec.deploymentId);
  });

  it('uses the port on which the application listens instead, of several the one that answers HTTP', async () => {
    const spec = await host.app({
      program: `
        require('node:net').createServer((socket) => socket.on('error', () => undefined)).listen(0);
        const server = require('node:http').createServer((_, response) => response.end('found'));
        server.listen(0, () => console.log(server.address().port))`,
    });
    await runtime.release(spec, never);
    const [row] = await host.replicas(spec);
    const said = await eventually('the line', async () => host.linesOf(spec)[0]);
    expect(String(row?.port)).to.equal(said);
    expect(row?.given_port).to.not.equal(row?.port);
    expect(await ask(row ?? { port: null })).to.equal('found');
    await runtime.stop(spec.deploymentId);
  });
});

describe('Process runtime, releases that do not answer', () => {
  let host: TestHost;
  let runtime: RuntimeDriver;

  before(async () => {
    host = await TestHost.create({ RELEASE_TIMEOUT_SECONDS: '8' });
    runtime = await host.runtime();
  });
  after(() => host.destroy());

  it('carries out the attempt of a run once, with its output in the log, and tells how it ended', async () => {
    await expectRunAttempts(host, runtime);
  });

  it('says that the application listens on no port', async () => {
    const spec = await host.app({ program: 'setInterval(() => {}, 1000)' });
    const error = await failure(runtime.release(spec, never));
    expect(error.message).to.match(
      /^nothing answered on port \d+ \(PORT\) within 8 s: connection refused; the process listens on no port[;.] .*PORT/,
    );
    await runtime.stop(spec.deploymentId);
  });

  it('shows the answer to the health check', async () => {
    const spec = await host.app({ configuration: { healthCheckPath: '/broken' } });
    const error = await failure(runtime.release(spec, never));
    expect(error.message).to.match(
      /^GET \/broken answered 500, expected 2xx or 3xx \(replica 1, within 8 s\)\. .*healthCheckPath/,
    );
    await runtime.stop(spec.deploymentId);
  });
});
