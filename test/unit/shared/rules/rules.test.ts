import { expect } from 'chai';
import { problemsOfRules } from '../../../../shared/rules/check-rules.js';
import type { RuleInput } from '../../../../shared/rules/model.js';
import { compilePattern, encodedSegment, matchPath, rulePath } from '../../../../shared/rules/path-pattern.js';
import { hashPassword, QUICK } from '../../../../shared/secrets/password.js';
import { CredentialMemory } from '../../../../workers/edge/rules/credential-check.js';
import { RateCounts } from '../../../../workers/edge/rules/rate-counts.js';

const redirect = (from: string, to: string, rest: Partial<RuleInput> = {}): RuleInput => ({
  ...{ type: 'redirect', from, to },
  ...rest,
});
const loops = (rules: RuleInput[]) => problemsOfRules(rules).map(({ path }) => path);

describe('rules of the edge', () => {
  it('find redirects in a circle, and no others', () => {
    expect(loops([redirect('/a', '/b'), redirect('/b', '/c'), redirect('/c', '/a')])).to.deep.equal(['/rules/0/to']);
    expect(loops([redirect('/x', '/y'), redirect('/a/:id', '/a/:id?seen=1')])).to.deep.equal(['/rules/1/to']);
    expect(loops([redirect('/a', '/b?x=1', { query: { x: '1' } }), redirect('/b', '/a')])).to.deep.equal([
      '/rules/0/to',
    ]);
    expect(loops([redirect('/a', '/b'), redirect('/b', 'https://example.com/a')])).to.deep.equal([]);
    expect(loops([redirect('/a/*', '/b/:splat'), redirect('/b/x/*', '/c')])).to.deep.equal([]);
    expect(loops([redirect('/a', '/b'), { type: 'rewrite', from: '/b', to: '/a' }])).to.deep.equal([]);
    expect(loops([redirect('/a', '/b', { query: { x: '1' } }), redirect('/b', '/a')])).to.deep.equal([]);
  });

  it('match in linear time, whatever the path', () => {
    const pattern = compilePattern(`/${'a*'.repeat(200)}b`);
    const path = rulePath(`/${'a'.repeat(8_000)}`);
    const start = performance.now();
    for (let i = 0; i < 100; i++) expect(matchPath(pattern, path)).to.equal(null);
    expect(performance.now() - start).to.be.below(1_000);
  });

  it('see one path in all its spellings', () => {
    for (const path of ['/a/b', '//a//b', '/%61/b', '/a/./b', '/a/x/../b']) {
      expect(rulePath(path), path).to.deep.equal({ segments: ['a', 'b'], slash: false });
    }
    expect(encodedSegment('é%c3%a9%2f')).to.equal('%C3%A9%C3%A9%2F');
    expect(encodedSegment('%zz"')).to.equal('%zz"');
    expect(matchPath(compilePattern('/%3Aa/%2A'), rulePath('/:a/*'))).to.deep.equal({});
    expect(matchPath(compilePattern('/%3Aa'), rulePath('/b'))).to.equal(null);
  });

  it('count each client in windows, and forget the oldest at the limit', () => {
    const counts = new RateCounts();
    expect([1, 2, 3].map(() => counts.take('a', 2, 1_000, 0))).to.deep.equal([0, 0, 1_000]);
    expect(counts.take('b', 2, 1_000, 0)).to.equal(0);
    expect(counts.take('a', 2, 1_000, 999)).to.equal(1);
    expect(counts.take('a', 2, 1_000, 1_000)).to.equal(0);
    for (let i = 0; i < 60_000; i++) counts.take(`c${i}`, 1, 1_000, 1_000);
    expect(counts.size).to.equal(50_000);
    expect(counts.take('c59999', 1, 1_000, 1_000)).to.equal(1_000);
    expect(counts.take('c0', 1, 1_000, 1_000)).to.equal(0);
    counts.clear();
    expect(counts.size).to.equal(0);
  });

  it('count on for other rules while five rules are flooded', () => {
    const flooded = Array.from({ length: 5 }, () => new RateCounts());
    for (const counts of flooded) for (let i = 0; i < 50_000; i++) counts.take(`c${i}`, 1, 60_000, 0);
    const counts = new RateCounts();
    for (const client of ['a', 'b', 'c']) expect(counts.take(client, 1, 60_000, 1)).to.equal(0);
    for (const client of ['a', 'b', 'c']) expect(counts.take(client, 1, 60_000, 2), client).to.equal(59_999);
    for (const one of [...flooded, counts]) one.clear();
  });

  it('refuse more checks of passwords than can wait', async () => {
    const memory = new CredentialMemory();
    const users = [{ name: 'a', hash: await hashPassword('right', QUICK) }];
    const checks = Array.from({ length: 10 }, (_, i) => memory.check(users, { name: 'a', password: String(i) }));
    expect(checks.filter((check) => check === null)).to.have.length(2);
    expect(await Promise.all(checks.slice(0, 8))).to.deep.equal(Array(8).fill(false));
    expect(memory.check(users, { name: 'a', password: '0' })).to.equal(false);
    expect(await memory.check(users, { name: 'b', password: 'right' })).to.equal(false);
    expect(await memory.check(users, { name: 'a', password: 'right' })).to.equal(true);
  });
});
