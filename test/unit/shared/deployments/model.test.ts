import { expect } from 'chai';
import fc from 'fast-check';
import {
  canBeCancelled,
  DEPLOYMENT_STATES,
  type DeploymentState,
  type EventType,
  isTerminal,
  nextState,
  STEP_OF,
  statusOf,
  TERMINAL_STATES,
} from '../../../../shared/deployments/model.js';

const EVENTS: EventType[] = [
  'resolved',
  'imageFound',
  'built',
  'imageMissing',
  'routeSwitched',
  'edgesConfirmed',
  'failed',
  'cancelled',
];

describe('The states of a deployment', () => {
  it('lead along the road that the specification shows', () => {
    const road: [DeploymentState, EventType, DeploymentState][] = [
      ['queued', 'resolved', 'building'],
      ['building', 'built', 'releasing'],
      ['releasing', 'routeSwitched', 'switched'],
      ['switched', 'edgesConfirmed', 'live'],
      ['queued', 'imageFound', 'releasing'],
      ['releasing', 'imageMissing', 'building'],
    ];
    for (const [from, event, to] of road) expect(nextState(from, event, false), `${from} ${event}`).to.equal(to);
  });

  it('an event that is not on the road cannot happen', () => {
    expect(nextState('queued', 'built', false)).to.equal(undefined);
    expect(nextState('queued', 'routeSwitched', false)).to.equal(undefined);
    expect(nextState('building', 'edgesConfirmed', false)).to.equal(undefined);
    expect(nextState('switched', 'failed', false)).to.equal(undefined);
  });

  it('whatever visitors see can neither fail nor be cancelled', () => {
    expect(canBeCancelled('switched')).to.equal(false);
    expect(nextState('switched', 'edgesConfirmed', true)).to.equal('live');
    for (const event of EVENTS) {
      if (event !== 'edgesConfirmed') expect(nextState('switched', event, true), event).to.equal(undefined);
    }
  });

  it('a requested cancellation wins over every other event of a state that can be cancelled', () => {
    for (const state of ['queued', 'building', 'releasing'] as const) {
      for (const event of EVENTS) {
        if (nextState(state, event, false) === undefined) continue;
        expect(nextState(state, event, true), `${state} ${event}`).to.equal('cancelled');
      }
    }
  });

  it('three states end, and nothing follows from them', () => {
    expect(DEPLOYMENT_STATES.filter(isTerminal)).to.deep.equal([...TERMINAL_STATES]);
    for (const state of TERMINAL_STATES)
      for (const event of EVENTS) expect(nextState(state, event, false)).to.equal(undefined);
  });

  it('every sequence of events ends in one terminal state at most, and never leaves it', () => {
    const sequences = fc.array(fc.record({ event: fc.constantFrom(...EVENTS), cancelRequested: fc.boolean() }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(sequences, (sequence) => {
        let state: DeploymentState = 'queued';
        let seenByVisitors = false;
        for (const { event, cancelRequested } of sequence) {
          const before: DeploymentState = state;
          state = nextState(state, event, cancelRequested) ?? state;
          if (isTerminal(before)) expect(state).to.equal(before);
          if (state === 'switched') seenByVisitors = true;
          if (state === 'live') expect(seenByVisitors).to.equal(true);
          if (seenByVisitors) expect(['switched', 'live']).to.include(state);
        }
      }),
    );
  });

  it('callers see six statuses, and three steps', () => {
    expect(DEPLOYMENT_STATES.map(statusOf)).to.deep.equal([
      'queued',
      'building',
      'releasing',
      'releasing',
      'live',
      'failed',
      'cancelled',
    ]);
    expect(STEP_OF).to.deep.equal({ queued: 'queued', building: 'build', releasing: 'release', switched: 'release' });
  });
});
