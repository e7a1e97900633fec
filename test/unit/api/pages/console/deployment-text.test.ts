import { expect } from 'chai';
import { commitText, usualMs } from '../../../../../api/pages/console/pages/deployments/deployment-text.js';
import { changesOf, keysOf, summaryOf } from '../../../../../api/pages/console/pages/variables/edits.js';

type Deployment = Parameters<typeof commitText>[0];
type Variable = Parameters<typeof keysOf>[0][number];

function deployment(status: Deployment['status'], buildSeconds: number | null): Deployment {
  const startedAt = '2026-01-01T00:00:00.000Z';
  const finishedAt = buildSeconds === null ? null : new Date(Date.parse(startedAt) + buildSeconds * 1000).toISOString();
  return { status, steps: [{ name: 'build', startedAt, finishedAt }] } as Deployment;
}

describe('What the console says of a deployment', () => {
  it('usually takes the median of the last five that went live', () => {
    const times = [10, 30, 20, 50, 40, 9000].map((seconds) => deployment('live', seconds));
    expect(usualMs('build', times)).to.equal(30_000);
    expect(usualMs('build', [deployment('failed', 1), deployment('live', 4)])).to.equal(4000);
    expect(usualMs('build', [deployment('failed', 1)])).to.equal(null);
    expect(usualMs('release', times)).to.equal(null);
  });

  it('is its commit with the subject, or its branch before the commit is known', () => {
    const fields = { commitSha: '4f2c1ab99', commitMessage: 'Fix the cart\n\nbecause', branch: 'main' };
    expect(commitText(fields as Deployment)).to.equal('4f2c1ab Fix the cart');
    expect(commitText({ ...fields, commitSha: '' } as Deployment)).to.equal('main');
  });
});

describe('Edited variables', () => {
  const stored = [{ key: 'B' }, { key: 'A' }] as Variable[];
  const edits = { C: { value: '1' }, A: { value: '2' }, B: null };

  it('are listed with the stored ones, and counted by what happens to them', () => {
    expect(keysOf(stored, edits)).to.deep.equal(['A', 'B', 'C']);
    expect(summaryOf(stored, edits)).to.equal('1 new, 1 replaced, 1 deleted');
  });

  it('become one request', () => {
    expect(changesOf(edits)).to.deep.equal({
      set: [
        { key: 'C', value: '1' },
        { key: 'A', value: '2' },
      ],
      unset: ['B'],
    });
  });
});
