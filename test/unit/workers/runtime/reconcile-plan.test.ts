import { expect } from 'chai';
import fc from 'fast-check';
import { isSettled, type ObservedHost, planPass, retryDelayMs } from '../../../../workers/runtime/reconcile-plan.js';

const NOW = 1_000_000;

function plan(changes: Partial<ObservedHost>) {
  const host = {
    rows: [],
    controlled: [],
    busy: new Set<string>(),
    retries: new Map<string, { at: number }>(),
    sweptAt: NOW,
    sweeping: false,
  };
  return planPass({ ...host, ...changes }, NOW);
}

describe('One pass of a supervisor', () => {
  it('reconciles every row whose controller does not work and has not just failed', () => {
    const retries = new Map([
      ['failed', { at: NOW + 1 }],
      ['due', { at: NOW }],
    ]);
    expect(plan({ rows: ['new', 'busy', 'failed', 'due'], busy: new Set(['busy']), retries }).reconcile).to.deep.equal([
      'new',
      'due',
    ]);
  });

  it('drops the controllers of rows that are gone, when their work has ended', () => {
    expect(plan({ rows: ['a'], controlled: ['a', 'b', 'c'], busy: new Set(['c']) }).drop).to.deep.equal(['b']);
  });

  it('sweeps at once after it took the lead, and then once a minute', () => {
    expect(plan({ sweptAt: 0 }).sweep).to.equal(true);
    expect(plan({ sweptAt: NOW - 60_000 }).sweep).to.equal(false);
    expect(plan({ sweptAt: NOW - 60_001 }).sweep).to.equal(true);
    expect(plan({ sweptAt: 0, sweeping: true }).sweep, 'while one is under way').to.equal(false);
  });

  it('never touches a replica that is busy', () => {
    const ids = fc.subarray(['a', 'b', 'c', 'd']);
    fc.assert(
      fc.property(ids, ids, ids, (rows, controlled, busy) => {
        const { drop, reconcile } = plan({ rows, controlled, busy: new Set(busy) });
        for (const id of [...drop, ...reconcile]) expect(busy).to.not.include(id);
        for (const id of drop) expect(rows).to.not.include(id);
      }),
    );
  });

  it('waits 1 s after a failure, twice as long after each further one, and at most a minute', () => {
    expect([1, 2, 3, 6, 7, 50].map(retryDelayMs)).to.deep.equal([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });

  it('is followed by a longer pause only if each replica is ready and nothing is planned for it', () => {
    const ready = {
      state: 'ready',
      desired: 'running',
      to_freeze: false,
      run_id: null,
      replaces: null,
      replace_at: null,
      failing_since: null,
      paused_until: null,
    } as const;
    expect(isSettled(ready)).to.equal(true);
    const soon = new Date(NOW);
    const changes = [
      { state: 'pending' as const },
      { state: 'exited' as const },
      { desired: 'stopped' as const },
      { run_id: 'a' },
      { replaces: 'a' },
      { replace_at: soon },
      { failing_since: soon },
      { paused_until: soon },
      { to_freeze: true },
    ];
    for (const change of changes) expect(isSettled({ ...ready, ...change }), JSON.stringify(change)).to.equal(false);
  });
});
