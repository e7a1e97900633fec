import { expect } from 'chai';
import fc from 'fast-check';
import { REPLICA_STATES, type ReplicaState } from '../../../../../workers/replicas/model.js';
import { ABANDONED } from '../../../../../workers/replicas/rows.js';
import {
  decidePortLoss,
  decideProcessReplica,
  isCpuLimited,
  type ObservedProcess,
  startingCpu,
} from '../../../../../workers/runtime/process/decide-process-replica.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const at = (ms: number) => new Date(NOW + ms);

function decide(row: Partial<ObservedProcess['row']>, alive = true, frozen = false) {
  const usual = {
    desired: 'running',
    state: 'ready',
    pid: 7,
    next_start_at: null,
    run_id: null,
    paused_until: null,
    to_freeze: false,
  } as const;
  return decideProcessReplica({ row: { ...usual, ...row }, alive, frozen }, NOW);
}

const observations: fc.Arbitrary<ObservedProcess> = fc.record({
  row: fc.record({
    desired: fc.constantFrom('running' as const, 'stopped' as const),
    state: fc.constantFrom(...REPLICA_STATES),
    pid: fc.constantFrom(7, null),
    next_start_at: fc.constantFrom(at(-1), at(0), at(1), null),
    run_id: fc.constantFrom('run', null),
    paused_until: fc.constantFrom(at(0), at(1), null),
    to_freeze: fc.boolean(),
  }),
  alive: fc.boolean(),
  frozen: fc.boolean(),
});

describe('What a controller does to a replica that runs as a process', () => {
  it('starts a replica that waits', () => {
    expect(decide({ state: 'pending', pid: null })).to.deep.equal(['start']);
  });

  it('starts a replica that exited when its back-off has passed, and one that failed never', () => {
    expect(decide({ state: 'exited', next_start_at: at(1) })).to.deep.equal([]);
    expect(decide({ state: 'exited', next_start_at: at(0) })).to.deep.equal(['start']);
    expect(decide({ state: 'exited', next_start_at: null })).to.deep.equal([]);
  });

  it('checks no health of the attempt of a run, which ends by itself and is not started again', () => {
    expect(decide({ state: 'starting', run_id: 'run' })).to.deep.equal(['followOutput']);
    expect(decide({ state: 'starting', run_id: 'run' }, false)).to.deep.equal(['recordEnd']);
    expect(decide({ state: 'exited', run_id: 'run' }, false)).to.deep.equal([]);
  });

  it('checks no health of a process that is paused', () => {
    expect(decide({ paused_until: at(1) })).to.deep.equal(['followOutput']);
    expect(decide({ paused_until: at(1) }, false)).to.deep.equal(['recordEnd']);
    expect(decide({ paused_until: at(0) })).to.deep.equal(['followOutput', 'checkHealth']);
  });

  it('freezes a replica once no edge sends requests to it, and again if the worker that froze it has ended', () => {
    expect(decide({ to_freeze: true })).to.deep.equal(['followOutput', 'drain', 'freeze']);
    expect(decide({ to_freeze: true, state: 'unhealthy' })).to.deep.equal(['followOutput', 'checkHealth']);
    expect(decide({ to_freeze: true, paused_until: at(1) })).to.deep.equal(['followOutput']);
    expect(decide({ to_freeze: true, state: 'frozen' }, true, true)).to.deep.equal([]);
    expect(decide({ to_freeze: true, state: 'frozen' }, true, false)).to.deep.equal(['freeze']);
  });

  it('thaws a frozen replica for a visitor, before it stops it, and when it has died', () => {
    const state = 'frozen';
    expect(decide({ state }, true, true)).to.deep.equal(['thaw']);
    expect(decide({ state, paused_until: at(1) }, true, true), 'a backup runs').to.deep.equal([]);
    expect(decide({ state, to_freeze: true, desired: 'stopped' }, true, true)).to.deep.equal(['thaw', 'stop']);
    expect(decide({ state, to_freeze: true }, false, true)).to.deep.equal(['thaw', 'recordEnd']);
  });

  it('drains a replica that gets requests before it stops it, and no other', () => {
    expect(decide({ desired: 'stopped', state: 'ready' })).to.deep.equal(['drain', 'stop']);
    for (const state of ['pending', 'starting', 'unhealthy', 'exited'] as const) {
      expect(decide({ desired: 'stopped', state }), state).to.deep.equal(['stop']);
    }
  });

  it('follows and checks what lives, and records the end of what does not', () => {
    for (const state of ['starting', 'ready', 'unhealthy'] as const) {
      expect(decide({ state }, true), state).to.deep.equal(['followOutput', 'checkHealth']);
      expect(decide({ state }, false), state).to.deep.equal(['recordEnd']);
    }
  });

  it('abandons an attempt whose process was never recorded', () => {
    expect(decide({ state: 'starting', pid: null }, false)).to.deep.equal(['abandonAttempt']);
    expect(decide({ state: 'starting', pid: ABANDONED }, false), 'again').to.deep.equal(['abandonAttempt']);
  });

  it('never starts, checks or restarts what is to be stopped, and never stops what is wanted', () => {
    fc.assert(
      fc.property(observations, (observed) => {
        const actions = decideProcessReplica(observed, NOW);
        if (observed.row.desired === 'stopped') expect(actions.at(-1)).to.equal('stop');
        else expect(actions).to.not.include.members(['stop']);
        if (actions.includes('freeze')) expect(observed.row.to_freeze && observed.alive).to.equal(true);
        if (actions.includes('start')) expect(['pending', 'exited']).to.include(observed.row.state);
        if (actions.includes('checkHealth')) expect(observed.alive && observed.row.pid !== null).to.equal(true);
      }),
    );
  });
});

describe('What a controller does when a stranger listens on the port of a replica', () => {
  it('moves the route away before the process ends, and starts the replica again at once', () => {
    expect(decidePortLoss(true, 1)).to.deep.equal(['recordExitAtOnce', 'kill']);
    expect(decidePortLoss(true, 3)).to.deep.equal(['recordExitAtOnce', 'kill']);
  });

  it('uses the usual back-off from the fourth loss on', () => {
    expect(decidePortLoss(true, 4)).to.deep.equal(['recordExit', 'kill']);
  });

  it('gives a replica that was never ready another port three times, and then lets it fail', () => {
    expect(decidePortLoss(false, 1)).to.deep.equal(['kill', 'finishOutput', 'startAgain']);
    expect(decidePortLoss(false, 3)).to.deep.equal(['kill', 'finishOutput', 'startAgain']);
    expect(decidePortLoss(false, 4)).to.deep.equal(['kill', 'finishOutput', 'recordExit']);
  });
});

describe('The processor of a replica', () => {
  it('is limited to the plan once the replica was ready, and half a minute after its start in any case', () => {
    const started_at = new Date(1_000_000);
    const limited = (state: ReplicaState, sinceMs: number) => isCpuLimited({ state, started_at }, 1_000_000 + sinceMs);
    expect([limited('starting', 0), limited('starting', 30_000), limited('starting', 30_001)]).to.deep.equal([
      false,
      false,
      true,
    ]);
    expect([limited('ready', 1), limited('unhealthy', 1)]).to.deep.equal([true, true]);
  });

  it('is two cores while a small replica starts, and never less than its plan', () => {
    expect([startingCpu(0.1, 8), startingCpu(0.1, 1), startingCpu(4, 2)]).to.deep.equal([2, 1, 4]);
  });
});
