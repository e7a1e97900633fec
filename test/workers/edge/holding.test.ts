import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { NodeEdge } from '../../../workers/edge/proxy/node-edge.js';
import type { RouteTable, Target } from '../../../workers/edge/route-table.js';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, type TestEdge } from './support.js';

function withHolds(table: RouteTable): RouteTable {
  return new Map(
    [...table].map(([host, route]) => [host, { ...route, target: { ...route.target, holds: true } as Target }]),
  );
}

function held(): RouteTable {
  const [route] = proxied([]).values();
  if (!route) throw new Error('no route');
  return withHolds(new Map([[HOST, { ...route, target: { type: 'unavailable', reason: 'no_ready_replica' } }]]));
}

describe('Requests for a service with volumes that has no replica', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.close());
  const waiting = (edge: TestEdge) => (edge as NodeEdge).figures.requests;

  it('wait for one, with their bodies, and are answered once', async () => {
    const seen: string[] = [];
    const replica = await bench.replica((req, res) => {
      const parts: Buffer[] = [];
      req.on('data', (part) => parts.push(part));
      req.on('end', () => {
        seen.push(`${req.method} ${Buffer.concat(parts).length}`);
        res.end('answer');
      });
    });
    const edge = await bench.edge();
    await edge.apply(held());
    const body = Buffer.alloc(3_000_000, 'x');
    const asked = [ask(edge.port, '/'), ask(edge.port, '/', { method: 'POST', body })];
    await eventually('both wait', () => waiting(edge) === 2);
    await delay(50);
    expect(seen).to.deep.equal([]);
    await edge.apply(held());
    await edge.apply(withHolds(proxied([replica])));
    const answers = await Promise.all(asked);
    expect(answers.map(({ status, text }) => `${status} ${text}`)).to.deep.equal(['200 answer', '200 answer']);
    expect(seen.sort()).to.deep.equal(['GET 0', 'POST 3000000']);
  });

  it('wait if its replica died a moment ago, also as long as the edge does not know that', async () => {
    const dead = await bench.deadReplica();
    const replica = await bench.replica((_req, res) => res.end('answer'));
    const edge = await bench.edge();
    await edge.apply(withHolds(proxied([dead])));
    const asked = ask(edge.port, '/');
    await eventually('it waits', () => waiting(edge) === 1);
    await delay(100);
    await edge.apply(held());
    await delay(50);
    await edge.apply(withHolds(proxied([replica])));
    expect((await asked).text).to.equal('answer');
  });

  it('do not wait for another one if they may have killed it', async () => {
    let times = 0;
    const dies = await bench.replica((req) => {
      times += 1;
      req.socket.destroy();
    });
    const edge = await bench.edge();
    await edge.apply(withHolds(proxied([dies])));
    expect((await ask(edge.port, '/')).status).to.equal(502);
    expect(times).to.be.at.most(3);
  });

  it('are answered 503 with Retry-After after the longest wait', async () => {
    const edge = await bench.edge({ timeouts: { holdMs: 100 } });
    await edge.apply(held());
    const answer = await ask(edge.port, '/');
    expect(answer.status).to.equal(503);
    expect(Number(answer.headers['retry-after'])).to.be.greaterThan(0);
  });

  it('wait at most 1,000 at a time; the next one is answered 503 at once', async function () {
    this.timeout(60_000);
    const replica = await bench.replica((_req, res) => res.end('answer'));
    const edge = await bench.edge({ limits: { perClient: 2_000, total: 4_000, slow: 4_000, stallMs: 60_000 } });
    await edge.apply(held());
    const asked = Array.from({ length: 1_000 }, () => ask(edge.port, '/'));
    await eventually('all wait', () => waiting(edge) === 1_000);
    expect((await ask(edge.port, '/')).status).to.equal(503);
    await edge.apply(withHolds(proxied([replica])));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
  });

  it('make room if their clients leave, and do not hold up the end of the edge', async () => {
    const edge = await bench.edge({ timeouts: { closeMs: 60_000 } });
    await edge.apply(held());
    const outgoing = request({ port: edge.port, headers: { host: HOST } }).on('error', () => undefined);
    outgoing.end();
    await eventually('it waits', () => waiting(edge) === 1);
    outgoing.destroy();
    await eventually('it is gone', () => waiting(edge) === 0);
    const last = ask(edge.port, '/');
    await eventually('it waits', () => waiting(edge) === 1);
    await edge.close();
    expect((await last).status).to.equal(503);
  });
});
