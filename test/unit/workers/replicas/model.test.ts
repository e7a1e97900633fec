import { expect } from 'chai';
import { describeRuntime, type ReplicaFacts, restartDelayMs } from '../../../../workers/replicas/model.js';
import { replicaRow } from '../../../support/fixtures.js';

const NOW = new Date('2026-01-01T00:00:00Z');

const replica = (changes: Partial<ReplicaFacts> = {}): ReplicaFacts => replicaRow(NOW, changes);

describe('The summary of a release', () => {
  it('counts what is ready', () => {
    expect(describeRuntime([replica(), replica({ position: 2 })], NOW)).to.deep.equal({
      health: 'ready',
      detail: '2 of 2 replicas ready',
    });
  });

  it('is starting while nothing has been ready, and unknown without replicas', () => {
    expect(describeRuntime([replica({ state: 'starting', ready_at: null })], NOW).health).to.equal('starting');
    expect(describeRuntime([replica({ desired: 'stopped' })], NOW).health).to.equal('unknown');
  });

  it('says what is wrong with each replica, and when it starts again', () => {
    const next = new Date(NOW.getTime() + 7_400);
    const exited = replica({ state: 'exited', exit_detail: 'exited with code 1', next_start_at: next });
    expect(
      describeRuntime([exited, replica({ position: 2, state: 'unhealthy', health_answer: 'GET / answered 500' })], NOW),
    ).to.deep.equal({
      health: 'unhealthy',
      detail:
        '0 of 2 replicas ready; replica 1 exited with code 1, starts again in 8 s; replica 2 does not pass its health check (GET / answered 500)',
    });
  });

  it('does not judge the service by a generation that comes up beside the serving one', () => {
    const failing = replica({ generation: 2, state: 'exited', ready_at: null });
    expect(describeRuntime([replica(), failing], NOW)).to.deep.equal({
      health: 'ready',
      detail: '1 of 1 replicas ready',
    });
  });

  it('is of the newer generation when nothing of the older one has ever been ready', () => {
    const old = replica({ state: 'exited', ready_at: null, exit_detail: 'exited with code 1' });
    expect(describeRuntime([old, replica({ generation: 2 })], NOW)).to.deep.equal({
      health: 'ready',
      detail: '1 of 1 replicas ready',
    });
  });

  it('waits 1, 2, 4 … 60 s before a start', () => {
    expect([0, 1, 2, 5, 6, 1000].map(restartDelayMs)).to.deep.equal([1000, 2000, 4000, 32_000, 60_000, 60_000]);
  });
});
