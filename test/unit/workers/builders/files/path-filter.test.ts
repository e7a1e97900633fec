import { expect } from 'chai';
import { createPathFilter } from '../../../../../workers/builders/files/path-filter.js';
import { ownProcessorMs } from '../../../../support/processor-time.js';

describe('includePaths and ignorePaths', () => {
  const cases: [include: string[], ignore: string[], kept: string[], left: string[]][] = [
    [[], [], ['a', 'a/b'], []],
    [[], ['*.md'], ['a.txt', 'docs/a.mdx'], ['a.md', 'docs/a.md']],
    [[], ['/docs'], ['src/docs/a', 'docs2/a'], ['docs/a', 'docs/x/y']],
    [[], ['docs/'], ['docs', 'x/docs'], ['docs/a', 'x/docs/a']],
    [[], ['src/*.test.js'], ['src/a/b.test.js', 'src/b.js'], ['src/b.test.js']],
    [[], ['src/**/*.test.js'], ['a.test.js'], ['src/b.test.js', 'src/a/b/c.test.js']],
    [[], ['*.log', '!keep.log'], ['keep.log', 'a/keep.log'], ['a.log']],
    [[], ['file[0-9].txt', 'file[!a-z].md'], ['filea.txt', 'filea.md'], ['file1.txt', 'file1.md']],
    [[], ['?.js'], ['ab.js'], ['a.js', 'x/b.js']],
    [['apps/web/**', 'package.json'], [], ['apps/web/a/b', 'package.json', 'x/package.json'], ['apps/api/a', 'README']],
    [['./apps/web'], ['**/fixtures'], ['apps/web/x'], ['apps/web/fixtures/x', 'apps/y']],
    [[], ['a.b'], ['axb'], ['a.b']],
    [[], ['\\*'], ['x'], ['*']],
    [[], ['['], ['x'], ['[']],
  ];
  for (const [include, ignore, kept, left] of cases) {
    it(`include ${JSON.stringify(include)}, ignore ${JSON.stringify(ignore)}`, () => {
      const filter = createPathFilter(include, ignore);
      expect(kept.filter((path) => !filter(path))).to.deep.equal([]);
      expect(left.filter((path) => filter(path))).to.deep.equal([]);
    });
  }

  it("match any pattern in a time proportional to its length and the path's", () => {
    const filter = createPathFilter([], [`${'*a'.repeat(200)}b`, `${'**/a/'.repeat(80)}b`]);
    expect(filter('a'.repeat(500))).to.equal(true);
    expect(filter('a/'.repeat(200))).to.equal(true);
  });

  it('match classes within a name only, and odd names', () => {
    const left: [pattern: string, path: string][] = [
      ['a[.-0]b', 'a/b'],
      ['a[^x]b', 'a/b'],
      ['a?b', 'a/b'],
    ];
    for (const [pattern, path] of left) expect(createPathFilter([], [`/${pattern}`])(path), pattern).to.equal(true);
    const taken: [pattern: string, path: string][] = [
      ['*.md', 'line\nbreak.md'],
      ['?.md', '\u{1f600}.md'],
      ['[\u{1f600}-\u{1f64f}]', '\u{1f601}'],
      ['[]]', ']'],
      ['a{2}', 'a{2}'],
      ['(a|b)$', '(a|b)$'],
    ];
    for (const [pattern, path] of taken) expect(createPathFilter([], [pattern])(path), pattern).to.equal(false);
    expect(createPathFilter([], ['[z-a]'])('z')).to.equal(true);
  });

  it('match deep paths and long patterns quickly', () => {
    const began = ownProcessorMs();
    const hostile = createPathFilter(
      [],
      Array.from({ length: 20 }, (_, n) => `${'**/a/*a*/'.repeat(50)}b${n}`),
    );
    expect(hostile(`${'a/'.repeat(1000)}file`)).to.equal(true);
    expect(ownProcessorMs() - began).to.be.lessThan(30_000);
  });
});
