import { expect } from 'chai';
import { branchNews, noveltyOf, pauseBeforePoll, reasonAgainst } from '../../../../shared/commits/model.js';
import { createPathFilter } from '../../../../workers/builders/files/path-filter.js';

describe('A commit that was reported', () => {
  const nothing = { head: null, deployed: null, onlySeen: false, undecided: false };

  it('is known if it was looked at or deployed last, whoever reports it', () => {
    expect(noveltyOf('b', { ...nothing, head: 'b' })).to.equal('known');
    expect(noveltyOf('b', { ...nothing, head: 'a', deployed: 'b' })).to.equal('known');
    expect(noveltyOf('b', { head: 'a', deployed: 'a', onlySeen: false, undecided: false })).to.equal('news');
  });

  it('waits while a deployment has not decided which commit it deploys', () => {
    expect(noveltyOf('b', { head: 'a', deployed: null, onlySeen: false, undecided: true })).to.equal('wait');
    expect(noveltyOf('b', { head: 'b', deployed: null, onlySeen: false, undecided: true })).to.equal('known');
  });

  it('is the first one if nothing is known of the branch', () => {
    expect(noveltyOf('a', nothing)).to.equal('first');
  });

  it('lets a hook report what a poll only saw', () => {
    const seen = { head: 'a', deployed: null, onlySeen: true, undecided: false };
    expect(noveltyOf('a', seen, 'poll')).to.equal('known');
    expect(noveltyOf('a', seen)).to.equal('news');
    expect(noveltyOf('b', seen, 'poll')).to.equal('news');
    expect(noveltyOf('a', { ...seen, deployed: 'a' })).to.equal('known');
  });

  it('is news again after the branch went back to it', () => {
    expect(noveltyOf('a', { head: 'b', deployed: 'b', onlySeen: false, undecided: false })).to.equal('news');
  });
});

describe('Whether a new commit is deployed', () => {
  const facts = { autoDeploy: 'commit', message: 'Fix', changed: null, matters: () => true };

  it('is up to autoDeploy and the message', () => {
    expect(reasonAgainst(facts)).to.equal(null);
    expect(reasonAgainst({ ...facts, autoDeploy: 'off' })).to.match(/off/);
    for (const message of ['x [skip ci]', '[Skip Deploy] x', 'x\n\n[ci skip]']) {
      expect(reasonAgainst({ ...facts, message }), message).to.match(/asks not to be deployed/);
    }
    expect(reasonAgainst({ ...facts, message: 'skip ci' })).to.equal(null);
  });

  it('is up to the changed files, and it is if they are not known', () => {
    const matters = createPathFilter(['src/'], ['*.md']);
    expect(reasonAgainst({ ...facts, matters, changed: ['src/a.js', 'docs/x'] })).to.equal(null);
    expect(reasonAgainst({ ...facts, matters, changed: ['docs/x', 'src/README.md'] })).to.match(/no changed file/);
    expect(reasonAgainst({ ...facts, matters, changed: [] })).to.match(/no changed file/);
    expect(reasonAgainst({ ...facts, matters, changed: null })).to.equal(null);
  });
});

describe('The pause before the next poll', () => {
  it('is a minute, a quarter of an hour with a hook, and grows with failures to an hour', () => {
    const minutes = (hooked: boolean, failures: number) => pauseBeforePoll({ hooked, failures }) / 60_000;
    expect([0, 1, 2, 3, 6, 50].map((failures) => minutes(false, failures))).to.deep.equal([1, 2, 4, 8, 60, 60]);
    expect([0, 1, 3, 4, 6].map((failures) => minutes(true, failures))).to.deep.equal([15, 15, 15, 16, 60]);
  });
});

describe('Branches for which polling wants previews', () => {
  const own = 'main';
  const of = (branches: Record<string, string>) => new Map(Object.entries(branches));

  it('are none with the first look, which only notes them', () => {
    const news = branchNews(of({ main: '1', old: '2' }), of({}), { own, first: true });
    expect(news).to.deep.equal({ news: [], noted: [['old', '2']], gone: [] });
  });

  it('are those that are new or have another commit, without that of the service', () => {
    const heads = of({ main: '9', same: '2', moved: '4', fresh: '5' });
    const { news, noted, gone } = branchNews(heads, of({ main: '1', same: '2', moved: '3', lost: '6' }), {
      own,
      first: false,
    });
    expect(news).to.deep.equal([
      ['moved', '4'],
      ['fresh', '5'],
    ]);
    expect(noted).to.deep.equal(news);
    expect(gone).to.deep.equal(['lost']);
  });

  it('are asked for in small numbers; the rest is not noted and comes with the next look', () => {
    const heads = of(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`b${i}`, 'x'])));
    const { news, noted } = branchNews(heads, of({}), { own, first: false });
    expect(news).to.have.length(20);
    expect(noted).to.have.length(20);
  });
});
