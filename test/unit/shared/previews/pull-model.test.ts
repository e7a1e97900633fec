import { expect } from 'chai';
import { isStale, type PullFacts, pullStatus } from '../../../../shared/previews/pull-model.js';

const at = (second: number) => new Date(Date.UTC(2026, 10, 22, 10, 0, second));

describe('A report of a pull request', () => {
  const stale = (
    stored: { open: boolean; second: number },
    report: { open: boolean; second: number | null; reopened?: boolean },
  ) =>
    isStale(
      { open: stored.open, reportedAt: at(stored.second) },
      { open: report.open, at: report.second === null ? null : at(report.second), reopened: report.reopened ?? false },
    );

  it('is dropped if it is older than what is stored', () => {
    expect(stale({ open: false, second: 5 }, { open: true, second: 4 })).to.equal(true);
    expect(stale({ open: true, second: 5 }, { open: false, second: 4 })).to.equal(true);
    expect(stale({ open: false, second: 5 }, { open: true, second: 6 })).to.equal(false);
  });

  it('of the same second does not open a closed one, unless it says so', () => {
    expect(stale({ open: false, second: 5 }, { open: true, second: 5 })).to.equal(true);
    expect(stale({ open: false, second: 5 }, { open: true, second: 5, reopened: true })).to.equal(false);
    expect(stale({ open: true, second: 5 }, { open: false, second: 5 })).to.equal(false);
    expect(stale({ open: false, second: 5 }, { open: true, second: null }), 'without a time').to.equal(true);
  });
});

describe('The status of a pull request', () => {
  const facts = { fork: true, headSha: 'b', open: true, decision: '' as PullFacts['decision'], decidedSha: '' };

  it('waits for a decision about each commit of a fork', () => {
    expect(pullStatus(facts)).to.equal('waiting');
    expect(pullStatus({ ...facts, decision: 'approved', decidedSha: 'a' })).to.equal('waiting');
    expect(pullStatus({ ...facts, decision: 'approved', decidedSha: 'b' })).to.equal('approved');
    expect(pullStatus({ ...facts, decision: 'declined', decidedSha: 'b' })).to.equal('declined');
  });

  it('is open without a decision if it is of no fork, and closed in the end', () => {
    expect(pullStatus({ ...facts, fork: false })).to.equal('open');
    expect(pullStatus({ ...facts, open: false })).to.equal('closed');
  });
});
