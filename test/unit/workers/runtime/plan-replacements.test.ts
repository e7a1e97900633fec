import { expect } from 'chai';
import fc from 'fast-check';
import { REPLICA_STATES } from '../../../../workers/replicas/model.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import {
  planReplacements,
  type ReplacementAction,
  replacementDelayMs,
  replacementMessage,
} from '../../../../workers/runtime/plan-replacements.js';
import { replicaRow } from '../../../support/fixtures.js';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number) => new Date(NOW - seconds * 1000);
const START_MS = 60_000;

const replica = (changes: Partial<ReplicaRow> = {}) =>
  replicaRow(ago(3000), { id: 'a', deployment_id: 'release', created_at: ago(3000), ...changes });

const failing = (changes: Partial<ReplicaRow> = {}) =>
  replica({
    state: 'unhealthy',
    failing_since: ago(61),
    replace_at: ago(1),
    health_answer: 'GET /health got no answer within 2 s',
    ...changes,
  });
const successor = (changes: Partial<ReplicaRow> = {}) =>
  replica({
    id: 'b',
    position: 1001,
    state: 'starting',
    ready_at: null,
    created_at: ago(5),
    replaces: 'a',
    ...changes,
  });

function plan(rows: ReplicaRow[], hasRoom = true): ReplacementAction[] {
  return planReplacements(rows, { now: NOW, startMs: START_MS, hasRoom: () => hasRoom });
}
const types = (actions: ReplacementAction[]) => actions.map(({ type }) => type);

describe('The replacement of failing replicas', () => {
  it('begins with a new one beside the failing one, when its time has come', () => {
    expect(types(plan([failing()]))).to.deep.equal(['begin']);
    expect(plan([failing({ replace_at: new Date(NOW + 1) })])).to.deep.equal([]);
    expect(plan([replica()])).to.deep.equal([]);
  });

  it('leaves a replica alone that gets no requests for another reason, or that was never healthy', () => {
    expect(plan([failing({ replace_at: null })])).to.deep.equal([]);
    expect(plan([failing({ ready_at: null })])).to.deep.equal([]);
    expect(plan([failing({ desired: 'stopped' })])).to.deep.equal([]);
  });

  it('restarts in its place where there is no room, or where a new one beside it did not help', () => {
    const [cramped] = plan([failing()], false);
    expect(cramped).to.include({ type: 'restartInPlace', why: 'no room' });
    const [again] = plan([failing({ surge_failed: true })]);
    expect(again).to.include({ type: 'restartInPlace', why: 'did not help' });
  });

  it('lets the new one take the place when it is healthy', () => {
    expect(types(plan([failing(), successor({ state: 'ready', ready_at: ago(1) })]))).to.deep.equal(['finish']);
    expect(plan([failing(), successor()])).to.deep.equal([]);
  });

  it('gives a new one up that failed, or took too long, and keeps the old one', () => {
    const exited = successor({ state: 'exited', exit_detail: 'exited with code 1' });
    expect(types(plan([failing(), exited]))).to.deep.equal(['abandon']);
    expect(types(plan([failing(), successor({ created_at: ago(60) })]))).to.deep.equal(['abandon']);
  });

  it('drops the new one if the old one recovers or is stopped', () => {
    expect(types(plan([replica(), successor()]))).to.deep.equal(['drop']);
    expect(types(plan([successor()]))).to.deep.equal(['drop']);
  });

  it('replaces the replicas of a release one after another, the longest failing first', () => {
    const both = [failing({ id: 'x', position: 2, failing_since: ago(62) }), failing({ failing_since: ago(70) })];
    const [first, ...rest] = plan(both);
    expect(rest).to.deep.equal([]);
    expect(first).to.deep.include({ type: 'begin', allFail: true });
    expect(first?.type === 'begin' && first.failing.id).to.equal('a');
    expect(plan([...both, successor()])).to.deep.equal([]);
    const restarted = replica({
      id: 'x',
      position: 2,
      state: 'exited',
      replacements: 1,
      next_start_at: ago(5),
      created_at: ago(20),
    });
    expect(plan([failing(), restarted])).to.deep.equal([]);
    // This successor had its time, so the others do not wait for it.
    expect(types(plan([failing(), { ...restarted, created_at: ago(90), next_start_at: ago(61) }]))).to.deep.equal([
      'begin',
    ]);
  });

  it('replaces one of each release that fails', () => {
    expect(plan([failing(), failing({ id: 'c', deployment_id: 'other' })])).to.have.length(2);
  });

  it('leaves a release alone that is being restarted', () => {
    expect(plan([failing(), replica({ id: 'c', generation: 2 })])).to.deep.equal([]);
  });

  it('restarts one that was healthy once, was started again, and does not come up', () => {
    const stuck = replica({ state: 'starting', started_at: ago(61) });
    expect(types(plan([stuck]))).to.deep.equal(['begin']);
    expect(plan([replica({ state: 'starting', started_at: ago(59) })])).to.deep.equal([]);
  });

  it('waits twice as long each time that does not help, up to 32 minutes', () => {
    expect([0, 1, 2, 5, 50].map((times) => replacementDelayMs(60_000, times) / 60_000)).to.deep.equal([
      1, 2, 4, 32, 32,
    ]);
  });

  it('says why, with the last answer', () => {
    const [begin] = plan([failing()]);
    expect(begin && replacementMessage(begin, NOW, 0)).to.equal(
      'Replica 1 has failed its health check for 61 s (the last answer: GET /health got no answer within 2 s): ' +
        'a new one starts beside it and takes its place when it is healthy',
    );
    const [abandon] = plan([failing(), successor({ state: 'exited', exit_detail: 'exited with code 1' })]);
    expect(abandon && replacementMessage(abandon, NOW, 120_000)).to.equal(
      'The new replica 1 did not become healthy (it exited with code 1): the old one stays, and the next try begins in 120 s',
    );
  });

  it('whatever it sees: at most one action begins for a release, and only a failing replica is ever stopped', () => {
    const date = fc.option(fc.integer({ min: 0, max: 200 }).map(ago), { nil: null });
    const arbitrary = fc.record({
      state: fc.constantFrom(...REPLICA_STATES),
      desired: fc.constantFrom('running' as const, 'stopped' as const),
      ready_at: date,
      replace_at: date,
      started_at: date,
      next_start_at: date,
      replacements: fc.integer({ min: 0, max: 9 }),
      surge_failed: fc.boolean(),
      generation: fc.integer({ min: 1, max: 2 }),
      replaces: fc.option(fc.constantFrom('0', '1', '2'), { nil: null }),
    });
    fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 5 }), fc.boolean(), (changes, room) => {
        const rows = changes.map((change, index) => replica({ ...change, id: String(index), position: index + 1 }));
        const actions = plan(rows, room);
        const begun = actions.filter(({ type }) => type === 'begin' || type === 'restartInPlace');
        expect(begun.length).to.be.at.most(1);
        for (const action of begun) {
          if (action.type !== 'begin' && action.type !== 'restartInPlace') continue;
          expect(action.failing.state).to.be.oneOf(['unhealthy', 'starting']);
          expect(action.failing.ready_at).to.not.equal(null);
          expect(action.failing.replaces).to.equal(null);
        }
        for (const action of actions) {
          if (action.type === 'finish') expect(action.successor.state).to.equal('ready');
          if (action.type === 'drop' || action.type === 'abandon') expect(action.successor.replaces).to.not.equal(null);
        }
      }),
    );
  });
});
