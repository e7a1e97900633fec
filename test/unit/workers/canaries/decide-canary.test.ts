import { expect } from 'chai';
import fc from 'fast-check';
import type { Canary, CanarySide } from '../../../../shared/deployments/canary-store.js';
import { LATENCY_BOUNDS, latencyClass } from '../../../../shared/metrics/model.js';
import { decideCanary } from '../../../../workers/canaries/decide-canary.js';

const MINUTE = 60_000;

function latency(count: number, ms: number): number[] {
  return [...LATENCY_BOUNDS, 0].map((_, index) => (index === latencyClass(ms) ? count : 0));
}

function side(requests: number, errors = 0, ms = 20): CanarySide {
  return { requests, errors, latency: latency(requests, ms), ready: 1 };
}

function canary(fresh: CanarySide, previous: CanarySide, at = 2 * MINUTE, changes: Partial<Canary> = {}): Canary {
  return {
    deploymentId: 'new',
    serviceId: 'service',
    previousId: 'previous',
    percent: 10,
    begunAt: 0,
    endsAt: 10 * MINUTE,
    endedAt: null,
    promoted: false,
    reason: '',
    cancelRequested: false,
    isActive: true,
    changedAt: 0,
    new: fresh,
    previous,
    now: at,
    ...changes,
  };
}

const typeOf = (...given: Parameters<typeof canary>) => decideCanary(canary(...given)).type;

describe('A canary', () => {
  it('is withdrawn with its figures if more requests fail than before', () => {
    expect(decideCanary(canary(side(300, 36), side(2_700, 3)))).to.deep.equal({
      type: 'withdraw',
      reason: '12 % of 300 requests failed, 0.1 % of 2700 before',
    });
  });

  it('waits while there are too few requests, and until its end if it is as good as before', () => {
    expect(typeOf(side(19, 19), side(1_000))).to.equal('wait');
    expect(typeOf(side(20, 20), side(1_000))).to.equal('withdraw');
    expect(typeOf(side(20, 1), side(1_000))).to.equal('wait');
    expect(typeOf(side(5_000), side(45_000), 9.9 * MINUTE)).to.equal('wait');
  });

  it('waits if both sides fail as often, for instance because their database is away', () => {
    expect(typeOf(side(300, 150), side(2_700, 1_350))).to.equal('wait');
    expect(typeOf(side(300, 150), side(2_700, 1_350), 10 * MINUTE)).to.equal('promote');
  });

  it('is promoted at its end, also without a visitor', () => {
    expect(decideCanary(canary(side(0), side(0), 10 * MINUTE))).to.deep.equal({
      type: 'promote',
      reason: '0 % of 0 requests failed, 0 % of 0 before',
    });
    expect(typeOf(side(1_000), side(9_000), 10 * MINUTE)).to.equal('promote');
  });

  it('is withdrawn at its end if the few requests that it had failed', () => {
    expect(typeOf(side(3, 3), side(40), 10 * MINUTE)).to.equal('withdraw');
    expect(typeOf(side(3, 1), side(40), 10 * MINUTE)).to.equal('withdraw');
  });

  it('is withdrawn if it is slower, but not for what a release that has just started needs', () => {
    expect(typeOf(side(200, 0, 900), side(2_000, 0, 100), 0.5 * MINUTE)).to.equal('wait');
    expect(decideCanary(canary(side(200, 0, 900), side(2_000, 0, 100), MINUTE))).to.deep.equal({
      type: 'withdraw',
      reason: '95 % of requests took up to 988 ms, 99 ms before',
    });
    expect(typeOf(side(200, 0, 900), side(2_000, 0, 100), 0.5 * MINUTE, { endsAt: MINUTE })).to.equal('withdraw');
    expect(typeOf(side(99, 0, 900), side(2_000, 0, 100))).to.equal('wait');
    expect(typeOf(side(200, 0, 9), side(2_000, 0, 1))).to.equal('wait');
  });

  it('is withdrawn if its deployment is cancelled, or its service is suspended', () => {
    expect(typeOf(side(0), side(0), 0, { cancelRequested: true })).to.equal('withdraw');
    expect(typeOf(side(0), side(0), 0, { isActive: false })).to.equal('withdraw');
  });

  it('is withdrawn if its replicas stay away for half a minute while those before are there', () => {
    const away = { ...side(0), ready: 0 };
    expect(typeOf(away, side(0), 30_000)).to.equal('wait');
    expect(typeOf(away, side(0), 30_001)).to.equal('withdraw');
    expect(typeOf(away, away, 5 * MINUTE)).to.equal('wait');
    expect(typeOf(away, away, 10 * MINUTE)).to.equal('withdraw');
  });

  it('never ends before its time if nothing failed and nothing is slow, and always ends then', () => {
    const counts = fc.nat({ max: 100_000 });
    fc.assert(
      fc.property(counts, counts, fc.nat({ max: 20 * MINUTE }), (fresh, previous, at) => {
        expect(typeOf(side(fresh), side(previous), at)).to.equal(at < 10 * MINUTE ? 'wait' : 'promote');
      }),
    );
  });

  it('is withdrawn whenever every request fails, after twenty requests at the latest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 100_000 }), fc.nat({ max: 100_000 }), (fresh, previous) => {
        expect(typeOf(side(fresh, fresh), side(previous))).to.equal('withdraw');
      }),
    );
  });
});
