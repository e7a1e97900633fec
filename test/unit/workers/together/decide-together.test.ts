import { expect } from 'chai';
import fc from 'fast-check';
import { DEPLOYMENT_STATES } from '../../../../shared/deployments/model.js';
import { decideTogether, type Group, type GroupDeployment } from '../../../../workers/together/decide-together.js';

const NOW = 1_000_000_000;

function deployment(name: string, changes: Partial<GroupDeployment> = {}): GroupDeployment {
  return {
    name,
    status: 'prepared',
    error: '',
    together: true,
    admitted: true,
    cancelRequested: false,
    ready: true,
    progressedAt: NOW - 1000,
    finishedAt: null,
    limitMs: 60_000,
    ...changes,
  };
}

function group(deployments: GroupDeployment[], changes: Partial<Group> = {}): Group {
  return {
    applyStatus: 'running',
    applyCancelRequested: false,
    givenUp: '',
    undeployed: [],
    deployments,
    now: NOW,
    ...changes,
  };
}

const decide = (deployments: GroupDeployment[], changes: Partial<Group> = {}) =>
  decideTogether(group(deployments, changes));
const [a, b] = [deployment('a'), deployment('b')];
const database = (changes: Partial<GroupDeployment>) => deployment('db', { together: false, ...changes });

describe('Services that go live together', () => {
  it('switch once all are prepared, and their databases are live', () => {
    expect(decide([a, b])).to.deep.equal({ type: 'switch' });
    expect(decide([a, database({ status: 'live', finishedAt: NOW })])).to.deep.equal({ type: 'switch' });
  });

  it('wait for those that are not prepared, and for those that the apply has not deployed yet', () => {
    for (const status of ['queued', 'building', 'releasing'] as const) {
      expect(decide([a, deployment('b', { status })]), status).to.deep.equal({ type: 'wait', for: ['b'] });
    }
    expect(decide([a], { undeployed: ['c'] })).to.deep.equal({ type: 'wait', for: ['c'] });
    expect(decide([a, database({ status: 'switched' })])).to.deep.equal({ type: 'wait', for: ['db'] });
  });

  it('wait for a release whose replicas are not ready any more', () => {
    expect(decide([a, deployment('b', { ready: false })])).to.deep.equal({ type: 'wait', for: ['b'] });
  });

  it('give up with the first deployment that failed, and name it', () => {
    const failed = deployment('b', { status: 'failed', error: 'release: no port', finishedAt: NOW - 10 });
    const later = deployment('c', { status: 'failed', error: 'because of b', finishedAt: NOW });
    const reason = 'the deployment of b failed: release: no port';
    expect(decide([later, a, failed])).to.deep.equal({ type: 'giveUp', reason });
    const data = database({ status: 'failed', error: 'no room', finishedAt: NOW });
    expect(decide([a, data])).to.deep.include({ reason: 'the deployment of db failed: no room' });
  });

  it('give up if one of them or the apply is cancelled, or if the apply failed', () => {
    expect(decide([a, deployment('b', { cancelRequested: true })])).to.deep.include({
      reason: 'the deployment of b was cancelled',
    });
    expect(decide([a, deployment('b', { status: 'cancelled', finishedAt: NOW })])).to.deep.include({
      reason: 'the deployment of b was cancelled',
    });
    expect(decide([a, b], { applyCancelRequested: true })).to.deep.include({ reason: 'the apply was cancelled' });
    expect(decide([a, b], { applyStatus: 'failed' })).to.deep.include({ reason: 'the apply failed' });
  });

  it('give up if nothing of them has gone on for longer than a build of them may take', () => {
    const waits = deployment('b', { status: 'queued', admitted: false, progressedAt: NOW - 70_000 });
    const old = deployment('a', { progressedAt: NOW - 60_001 });
    expect(decide([old, waits])).to.deep.equal({ type: 'giveUp', reason: 'b was not ready within 60 s' });
    expect(decide([deployment('a', { progressedAt: NOW - 59_999 }), waits]).type).to.equal('wait');
    expect(decide([deployment('a', { progressedAt: NOW - 60_001, limitMs: 90_000 }), waits]).type).to.equal('wait');
    const dead = deployment('b', { ready: false, progressedAt: NOW - 70_000 });
    expect(decide([old, dead]).type).to.equal('giveUp');
  });

  it('do not give up while one of them works, because its steps have limits of their own', () => {
    const works = deployment('b', { status: 'building', progressedAt: NOW - 900_000 });
    expect(decide([deployment('a', { progressedAt: NOW - 900_000 }), works]).type).to.equal('wait');
  });

  it('never switch once they were given up, and never give up once they have switched', () => {
    expect(decide([a, b], { givenUp: 'b failed' })).to.deep.equal({ type: 'giveUp', reason: 'b failed' });
    const switched = deployment('b', { status: 'switched' });
    expect(
      decide([deployment('a', { status: 'live', finishedAt: NOW }), switched], { applyCancelRequested: true }),
    ).to.deep.equal({ type: 'switched' });
  });

  it('switch only if each of any deployments is prepared or a live database', () => {
    const any = fc.record({
      status: fc.constantFrom(...DEPLOYMENT_STATES),
      together: fc.boolean(),
      ready: fc.boolean(),
      admitted: fc.boolean(),
      cancelRequested: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 5 }), fc.boolean(), (parts, cancelled) => {
        const deployments = parts.map((part, index) => deployment(`s${index}`, part));
        const { type } = decide(deployments, { applyCancelRequested: cancelled });
        const may =
          !cancelled &&
          deployments.every(
            ({ status, together, ready, cancelRequested }) =>
              !cancelRequested && (together ? status === 'prepared' && ready : status === 'live'),
          );
        expect(type === 'switch').to.equal(may);
      }),
    );
  });
});
