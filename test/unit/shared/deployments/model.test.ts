import { expect } from 'chai';
import fc from 'fast-check';
import {
  DEPLOYMENT_STATES,
  type DeploymentState,
  isTerminal,
  STEP_OF,
  statusOf,
  TERMINAL_STATES,
  TRANSITIONS,
} from '../../../../shared/deployments/model.js';

const EVENTS = [
  ...['resolved', 'imageFound', 'built', 'imageMissing', 'prepared', 'canaryBegun', 'canaryWithdrawn'],
  ...['routeSwitched', 'edgesConfirmed', 'failed', 'cancelled'],
];
const next = (state: DeploymentState, event: string): string | undefined =>
  (TRANSITIONS[state] as Partial<Record<string, DeploymentState>>)[event];

describe('The states of a deployment', () => {
  it('lead along the road that the specification shows', () => {
    const road: [DeploymentState, string, DeploymentState][] = [
      ['queued', 'resolved', 'building'],
      ['building', 'built', 'releasing'],
      ['releasing', 'routeSwitched', 'switched'],
      ['switched', 'edgesConfirmed', 'live'],
      ['queued', 'imageFound', 'releasing'],
      ['releasing', 'imageMissing', 'building'],
      ['releasing', 'prepared', 'prepared'],
      ['prepared', 'routeSwitched', 'switched'],
      ['releasing', 'canaryBegun', 'canary'],
      ['canary', 'routeSwitched', 'switched'],
      ['canary', 'canaryWithdrawn', 'withdrawn'],
      ['withdrawn', 'failed', 'failed'],
    ];
    for (const [from, event, to] of road) expect(next(from, event), `${from} ${event}`).to.equal(to);
  });

  it('an event that is not on the road cannot happen', () => {
    expect(next('queued', 'built')).to.equal(undefined);
    expect(next('queued', 'routeSwitched')).to.equal(undefined);
    expect(next('building', 'edgesConfirmed')).to.equal(undefined);
    expect(next('switched', 'failed')).to.equal(undefined);
  });

  it('whatever visitors see can neither fail nor be cancelled', () => {
    expect(EVENTS.filter((event) => next('switched', event) !== undefined)).to.deep.equal(['edgesConfirmed']);
  });

  it('three states end, and nothing follows from them', () => {
    expect(DEPLOYMENT_STATES.filter(isTerminal)).to.deep.equal([...TERMINAL_STATES]);
    for (const state of TERMINAL_STATES) for (const event of EVENTS) expect(next(state, event)).to.equal(undefined);
  });

  it('every sequence of events ends in one terminal state at most, and never leaves what visitors see', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 30 }), (sequence) => {
        let state: DeploymentState = 'queued';
        let seenByVisitors = false;
        for (const event of sequence) {
          state = (next(state, event) ?? state) as DeploymentState;
          if (state === 'switched') seenByVisitors = true;
          if (state === 'live') expect(seenByVisitors).to.equal(true);
          if (seenByVisitors) expect(['switched', 'live']).to.include(state);
        }
      }),
    );
  });

  it('callers see six statuses, and four steps', () => {
    expect(DEPLOYMENT_STATES.map(statusOf)).to.deep.equal([
      ...['queued', 'building', 'releasing', 'releasing', 'releasing', 'releasing', 'releasing', 'live'],
      ...['failed', 'cancelled'],
    ]);
    expect(STEP_OF).to.deep.equal({
      queued: 'queued',
      building: 'build',
      releasing: 'release',
      prepared: 'release',
      canary: 'canary',
      withdrawn: 'canary',
      switched: 'release',
    });
  });
});
