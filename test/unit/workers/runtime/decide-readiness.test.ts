import { expect } from 'chai';
import fc from 'fast-check';
import type { ReplicaState } from '../../../../workers/replicas/model.js';
import {
  CHECKS_KEPT,
  checkTime,
  decideReadiness,
  hasSettled,
  isHealthyStatus,
} from '../../../../workers/runtime/decide-readiness.js';

const PASS = true;
const FAIL = false;

function run(from: ReplicaState, port: number | null, results: readonly boolean[]): ReplicaState[] {
  let state = from;
  let checks: boolean[] = [];
  return results.map((result) => {
    checks = [...checks, result].slice(-CHECKS_KEPT);
    const { verdict } = decideReadiness({ state, port, checks, upMs: 0 });
    if (verdict !== 'same') state = verdict;
    return state;
  });
}

describe('Readiness of a replica', () => {
  it('checks of ready replicas begin together, and none later than its interval', () => {
    const times = [1_000_001, 1_000_250, 1_000_499].map((now) => checkTime(now, 5_000));
    expect(times).to.deep.equal([1_005_000, 1_005_000, 1_005_000]);
    expect(checkTime(1_000_001, 1_000)).to.equal(1_001_001);
  });

  it('a new replica gets requests after two passes in a row, not after one', () => {
    expect(run('starting', 8000, [PASS])).to.deep.equal(['starting']);
    expect(run('starting', 8000, [PASS, PASS])).to.deep.equal(['starting', 'ready']);
    expect(run('starting', 8000, [PASS, FAIL, PASS, PASS])).to.deep.equal([
      'starting',
      'starting',
      'starting',
      'ready',
    ]);
  });

  it('a ready replica loses its requests after two failures in a row, not after one', () => {
    expect(run('ready', 8000, [FAIL])).to.deep.equal(['ready']);
    expect(run('ready', 8000, [FAIL, PASS, FAIL])).to.deep.equal(['ready', 'ready', 'ready']);
    expect(run('ready', 8000, [FAIL, FAIL])).to.deep.equal(['ready', 'unhealthy']);
  });

  it('an unhealthy replica gets requests again after one pass', () => {
    expect(run('unhealthy', 8000, [FAIL, FAIL, PASS])).to.deep.equal(['unhealthy', 'unhealthy', 'ready']);
  });

  it('a replica without a port is ready after one pass', () => {
    expect(run('starting', null, [FAIL, PASS])).to.deep.equal(['starting', 'ready']);
  });

  it('no failed check makes a replica ready, and no passed check makes it unhealthy', () => {
    const states = fc.constantFrom<ReplicaState>('starting', 'ready', 'unhealthy');
    const ports = fc.constantFrom(8000, null);
    const history = fc.array(fc.boolean(), { minLength: 1, maxLength: CHECKS_KEPT });
    fc.assert(
      fc.property(states, ports, history, (state, port, checks) => {
        const { verdict } = decideReadiness({ state, port, checks, upMs: 0 });
        expect(verdict).to.not.equal(checks.at(-1) ? 'unhealthy' : 'ready');
        expect(verdict).to.not.equal(state);
      }),
    );
  });

  it('without two equal results in a row, a replica with a port keeps its first state', () => {
    const alternating = Array.from({ length: 20 }, (_, i) => i % 2 === 0);
    expect(new Set(run('starting', 8000, alternating))).to.deep.equal(new Set(['starting']));
    expect(new Set(run('ready', 8000, alternating))).to.deep.equal(new Set(['ready']));
  });

  it('checks a new replica often, a failing one each second, and a ready one every five seconds', () => {
    const next = (state: ReplicaState, checks: boolean[], upMs = 0) =>
      decideReadiness({ state, port: 1, checks, upMs }).nextCheckMs;
    expect([0, 60, 300, 3000].map((upMs) => next('starting', [FAIL], upMs))).to.deep.equal([5, 10, 50, 250]);
    expect(next('starting', [PASS])).to.equal(50);
    expect(next('starting', [PASS, PASS])).to.equal(5_000);
    expect(next('ready', [PASS])).to.equal(5_000);
    expect(next('ready', [FAIL])).to.equal(1_000);
    expect(next('ready', [FAIL, FAIL])).to.equal(1_000);
    expect(next('unhealthy', [FAIL])).to.equal(1_000);
    expect(next('unhealthy', [PASS])).to.equal(5_000);
  });

  it('takes 2xx and 3xx as healthy, and nothing else', () => {
    for (const status of [200, 204, 299, 301, 399]) expect(isHealthyStatus(status), `${status}`).to.equal(true);
    for (const status of [0, 101, 199, 400, 401, 403, 404, 429, 500, 503]) {
      expect(isHealthyStatus(status), `${status}`).to.equal(false);
    }
  });

  it('a replica without a port has settled after one second', () => {
    expect(hasSettled(10_000, 10_999)).to.equal(false);
    expect(hasSettled(10_000, 11_000)).to.equal(true);
  });
});
