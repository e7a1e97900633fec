import { expect } from 'chai';
import fc from 'fast-check';
import { REPLICA_STATES } from '../../../../workers/replicas/model.js';
import { generationToReplace, rolloutOutcome } from '../../../../workers/runtime/rollout.js';

const SINCE = new Date('2026-01-01T00:00:00Z');
const ready = (position: number) => ({ position, state: 'ready' as const, ready_at: SINCE });
const starting = (position: number) => ({ position, state: 'starting' as const, ready_at: null });
const failed = (position: number) => ({ position, state: 'exited' as const, ready_at: null });
const crashed = (position: number) => ({ position, state: 'exited' as const, ready_at: SINCE });

describe('How a rollout stands', () => {
  it('is ready when every wanted replica is, and not before', () => {
    expect(rolloutOutcome([ready(1), ready(2)], 2, false).type).to.equal('ready');
    expect(rolloutOutcome([ready(1), starting(2)], 2, false).type).to.equal('pending');
    expect(rolloutOutcome([ready(1), starting(2)], 1, false).type).to.equal('ready');
  });

  it('fails with the replica that ended before it was ready, but waits for one that was ready once', () => {
    expect(rolloutOutcome([ready(1), failed(2)], 2, false)).to.deep.equal({ type: 'failed', row: failed(2) });
    expect(rolloutOutcome([ready(1), crashed(2)], 2, false).type).to.equal('pending');
  });

  it('is late after the timeout, stopped without rows, incomplete with too few', () => {
    expect(rolloutOutcome([starting(1)], 1, true).type).to.equal('late');
    expect(rolloutOutcome([], 1, true).type).to.equal('stopped');
    expect(rolloutOutcome([ready(1)], 2, false).type).to.equal('incomplete');
  });

  it('is ready only if the number of ready replicas is the number wanted', () => {
    const row = (position: number) =>
      fc.record({
        position: fc.constant(position),
        state: fc.constantFrom(...REPLICA_STATES),
        ready_at: fc.constantFrom(SINCE, null),
      });
    const rows = fc.tuple(row(1), row(2), row(3)).chain((all) => fc.subarray(all));
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 3 }), fc.boolean(), (some, count, isLate) => {
        const wanted = some.filter(({ position }) => position <= count);
        const outcome = rolloutOutcome(some, count, isLate);
        if (outcome.type === 'ready') expect(wanted.every(({ state }) => state === 'ready')).to.equal(true);
        if (isLate) expect(['pending', 'incomplete']).to.not.include(outcome.type);
      }),
    );
  });
});

describe('What a restart replaces', () => {
  it('is the oldest generation, by as many replicas as it has', () => {
    const rows = [{ generation: 3 }, { generation: 2 }, { generation: 2 }];
    expect(generationToReplace(rows, 5)).to.deep.equal({ generation: 2, count: 2 });
  });

  it('is nothing if nothing runs: the new generation has as many replicas as are wanted', () => {
    expect(generationToReplace([], 5)).to.deep.equal({ generation: 0, count: 5 });
  });
});
