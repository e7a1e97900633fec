import { expect } from 'chai';
import { type ActiveState, TRANSITIONS } from '../../../../shared/deployments/model.js';
import { decide as decideFor } from '../../../../workers/engine/decide-action.js';
import type { Failure } from '../../../../workers/failures/classify-failure.js';

const decide = (state: ActiveState, failure: Failure, lastAttempt: boolean) =>
  decideFor(TRANSITIONS[state], failure, { lastAttempt });
const fault = new Error('the registry is away');

describe('What a deployment does when a step did not come to its end', () => {
  for (const state of ['queued', 'building', 'releasing'] as const) {
    it(`${state}: a cause that a person can act on fails it at once`, () => {
      const failure = { type: 'failed', cause: 'npm ci: exit code 1' } as const;
      expect(decide(state, failure, false)).to.deep.equal({
        type: 'end',
        state: 'failed',
        cause: 'npm ci: exit code 1',
      });
    });

    it(`${state}: a fault of the platform is tried again, and fails it at the last try`, () => {
      const failure = { type: 'platformFault', error: fault } as const;
      expect(decide(state, failure, false)).to.deep.equal({ type: 'handBack', fault });
      expect(decide(state, failure, true)).to.deep.equal({
        type: 'end',
        state: 'failed',
        cause: 'internal error: the registry is away',
      });
    });

    it(`${state}: a cancellation ends it`, () => {
      expect(decide(state, { type: 'interrupted', why: 'cancelled' }, true)).to.deep.equal({
        type: 'end',
        state: 'cancelled',
        cause: '',
      });
    });
  }

  it('a release that visitors see is never ended by a failure, a fault or a cancellation', () => {
    expect(decide('switched', { type: 'failed', cause: 'x' }, true).type).to.equal('handBack');
    expect(decide('switched', { type: 'platformFault', error: fault }, true)).to.deep.equal({
      type: 'handBack',
      fault,
    });
    expect(decide('switched', { type: 'interrupted', why: 'cancelled' }, true)).to.deep.equal({ type: 'handOver' });
  });

  it('a shutdown hands it over, and a lost lease leaves it alone, in every state', () => {
    for (const state of ['queued', 'building', 'releasing', 'switched'] as const) {
      expect(decide(state, { type: 'interrupted', why: 'shutdown' }, true)).to.deep.equal({ type: 'handOver' });
      expect(decide(state, { type: 'interrupted', why: 'superseded' }, true)).to.deep.equal({ type: 'leave' });
    }
  });
});
