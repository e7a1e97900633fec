import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { NodeEdge } from '../../../workers/edge/proxy/node-edge.js';
import type { RouteTable } from '../../../workers/edge/route-table.js';
import { TrafficMeter } from '../../../workers/edge/traffic-meter.js';
import { eventually } from '../../support/processes.js';
import { ask, Bench, HOST, proxied, type TestReplica } from './support.js';

const ID = '019377aa-1111-7000-8000-0123456789ab';
const NEW = { cookie: 'a=b; ranvier_canary=0123456789ab.new' };
const PREVIOUS = { cookie: 'ranvier_canary=0123456789ab.previous' };

describe('The edge during a canary', () => {
  let bench: Bench;
  let edge: NodeEdge;
  let traffic: TrafficMeter;
  let previous: TestReplica;

  beforeEach(async () => {
    bench = new Bench();
    traffic = new TrafficMeter();
    const log = createLogger('test-edge', 'silent');
    edge = new NodeEdge({ port: 0, imagesDir: '/nonexistent', log, refresh: async () => undefined, traffic });
    await edge.listen();
    previous = await bench.replica((_req, res) => res.end('previous'));
  });
  afterEach(async () => {
    await edge.close();
    await bench.close();
  });

  function canary(replica: TestReplica, percent: number): RouteTable {
    const [route] = proxied([previous]).values();
    if (route?.target.type !== 'proxy') throw new Error('no route');
    const target = { ...route.target, canary: { deploymentId: ID, percent, replicas: [replica] } };
    return new Map([[HOST, { ...route, target }]]);
  }
  const visit = (headers: Record<string, string> = {}) => ask(edge.port, '/', { headers });

  it('draws a side once for each visitor, and keeps the cookies of the application', async () => {
    const fresh = await bench.replica((_req, res) => res.setHeader('Set-Cookie', 'own=1').end('new'));
    await edge.apply(canary(fresh, 50));
    const sides = new Set<string>();
    await eventually('both sides are drawn', async () => {
      const { text, headers } = await visit();
      sides.add(text);
      const cookies = headers['set-cookie'] ?? [];
      expect(cookies.at(-1)).to.equal(
        `ranvier_canary=0123456789ab.${text}; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax`,
      );
      expect(cookies.slice(0, -1)).to.deep.equal(text === 'new' ? ['own=1'] : []);
      return sides.size === 2;
    });
    for (const [headers, text, cookies] of [
      [NEW, 'new', ['own=1']],
      [PREVIOUS, 'previous', undefined],
    ] as const) {
      const answer = await visit(headers);
      expect([answer.text, answer.headers['set-cookie']]).to.deep.equal([text, cookies]);
    }
  });

  it('counts each side for itself: errors of the replica, its silence, and answers that break off', async () => {
    const broken = await bench.replica((req, res) => {
      if (req.headers['x-case'] === 'error') res.writeHead(500).end();
      else if (req.headers['x-case'] === 'cut') {
        res.writeHead(200, { 'content-length': '10' });
        res.write('half');
        setTimeout(() => res.destroy(), 20);
      } else if (req.headers['x-case'] === 'none') res.destroy();
      else res.end('new');
    });
    await edge.apply(canary(broken, 1));
    for (const name of ['fine', 'error', 'cut', 'none']) await visit({ ...NEW, 'x-case': name });
    for (let count = 0; count < 3; count++) expect((await visit(PREVIOUS)).text).to.equal('previous');
    const found = new Map<string, readonly number[]>();
    await eventually('all are counted', () => {
      for (const { serviceId, classes } of traffic.canaries.take()) {
        found.set(
          serviceId,
          classes.map((count, index) => count + (found.get(serviceId)?.[index] ?? 0)),
        );
      }
      const sum = [...found.values()].flat().reduce((all, count) => all + count, 0);
      return sum === 7;
    });
    expect(Object.fromEntries(found)).to.deep.equal({
      [`${ID}/new`]: [1, 0, 0, 3],
      [`${ID}/previous`]: [3, 0, 0, 0],
    });
  });

  it('sends every visitor to the live release when it is over, and counts no side any more', async () => {
    const fresh = await bench.replica((_req, res) => res.end('new'));
    await edge.apply(canary(fresh, 99));
    expect((await visit(NEW)).text).to.equal('new');
    await eventually('the visit is counted', () => traffic.canaries.take().length === 1);
    await edge.apply(proxied([previous]));
    const answer = await visit(NEW);
    expect([answer.text, answer.headers['set-cookie']]).to.deep.equal(['previous', undefined]);
    expect(traffic.canaries.take()).to.deep.equal([]);
  });
});
