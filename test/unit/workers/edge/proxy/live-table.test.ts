import { expect } from 'chai';
import { LiveTable } from '../../../../../workers/edge/proxy/live-table.js';
import { TIMEOUTS } from '../../../../../workers/edge/proxy/node-edge.js';
import type { Route } from '../../../../../workers/edge/route-table.js';
import { TrafficMeter } from '../../../../../workers/edge/traffic-meter.js';

function route(host: string, replicas: readonly number[], canary: readonly number[] = []): Route {
  const ready = (numbers: readonly number[]) => numbers.map((n) => ({ id: `r${n}`, address: '127.0.0.1', port: n }));
  const side = canary.length === 0 ? {} : { canary: { deploymentId: 'new', percent: 10, replicas: ready(canary) } };
  const target = { type: 'proxy', replicas: ready(replicas), ...side } as const;
  return { serviceId: 'one', host, certified: true, allow: [], maintenance: null, sleeps: false, target };
}

describe('The table that an edge serves', () => {
  let meter: TrafficMeter;
  let live: LiveTable;
  const table = new Map<string, Route>();
  const set = (...routes: Route[]) => routes.forEach((it) => void table.set(it.host, it));
  const names = (left: { key: string }[]) => left.map(({ key }) => key.slice(0, 2));
  beforeEach(() => {
    meter = new TrafficMeter();
    live = new LiveTable(TIMEOUTS, meter);
    table.clear();
    set(route('a', [1, 2]), route('b', [1, 2]));
    live.swap(table);
  });
  afterEach(() => live.destroy());

  it('prepares no route before its first visitor', () => {
    expect(live.size).to.deep.equal({ routes: 2, upstreams: 0 });
    expect(live.find('a')?.upstreams).to.have.length(2);
    expect(live.size.upstreams).to.equal(2);
  });

  it('compares only the hosts that changed, if they are named', () => {
    const [a, b] = [live.find('a'), live.find('b')];
    set(route('a', [1, 2]), route('b', [3]));
    live.swap(table, new Set(['b']));
    expect(live.find('a')).to.equal(a);
    expect(live.find('b')).not.to.equal(b);
    expect(live.find('b')?.upstreams[0]?.key).to.match(/^r3/);
  });

  it('keeps the connections of a replica until no route uses it', () => {
    const first = live.find('a')?.upstreams[0];
    expect(live.find('b')?.upstreams[0]).to.equal(first);
    set(route('a', [2]));
    expect(names(live.swap(table, new Set(['a'])))).to.deep.equal([]);
    table.delete('b');
    expect(names(live.swap(table, new Set(['b'])))).to.deep.equal(['r1']);
    expect(live.size).to.deep.equal({ routes: 1, upstreams: 1 });
  });

  it('hands a replica over from a host that goes to one that comes', () => {
    const first = live.find('a')?.upstreams[0];
    table.clear();
    set(route('c', [1, 2]));
    expect(live.swap(table)).to.deep.equal([]);
    expect(live.find('c')?.upstreams[0]).to.equal(first);
  });

  it('counts both sides of a canary, and forgets them with it', () => {
    set(route('a', [1, 2], [3]));
    live.swap(table, new Set(['a']));
    live.find('a')?.canary?.new.count(200, 1, 1);
    set(route('a', [1, 2]));
    expect(names(live.swap(table, new Set(['a'])))).to.deep.equal(['r3']);
    const [taken] = meter.canaries.take();
    expect(taken?.serviceId).to.equal('new/new');
    const known = meter.canaries.of('new/new');
    meter.canaries.take();
    expect(meter.canaries.of('new/new')).not.to.equal(known);
  });
});
