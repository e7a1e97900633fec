import { expect } from 'chai';
import fc from 'fast-check';
import { MIN_PATTERN_LENGTH, PrefixIndex } from '../../../../workers/masking/prefix-index.js';

/** Finds the expected matches by comparing every pattern at every position. */
function naive(patterns: readonly string[], text: string): [number, number][] {
  const found: [number, number][] = [];
  for (let start = 0; start < text.length; start++) {
    const lengths = patterns
      .filter((pattern) => pattern.length >= MIN_PATTERN_LENGTH && text.startsWith(pattern, start))
      .map((pattern) => pattern.length);
    if (lengths.length > 0) found.push([start, Math.max(...lengths)]);
  }
  return found;
}

function indexed(patterns: readonly string[], text: string): [number, number][] {
  const found: [number, number][] = [];
  new PrefixIndex(patterns).each(text, (start, length) => found.push([start, length]));
  return found;
}

describe('PrefixIndex', () => {
  it('finds the longest pattern at every place, as comparing all of them does', () => {
    // With few characters and long texts, patterns begin alike, contain each other and overlap.
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), fc.array(word, { maxLength: 10 }), (patterns, others) => {
        const text = [...others, ...patterns.slice(0, 5)].join('');
        expect(indexed(patterns, text)).to.deep.equal(naive(patterns, text));
      }),
      { numRuns: 500 },
    );
  });

  it('finds patterns of every length, each within the next', () => {
    const patterns = Array.from({ length: 300 }, (_, i) => 'a'.repeat(i + 1));
    const text = `${'a'.repeat(500)}b${'a'.repeat(40)}`;
    expect(indexed(patterns, text)).to.deep.equal(naive(patterns, text));
  });

  it('finds nothing without patterns, and none in a shorter text', () => {
    expect(indexed([], 'abcdefgh')).to.deep.equal([]);
    expect(indexed(['abcdefgh'], 'abcdefg')).to.deep.equal([]);
    expect(indexed(['abc'], 'abcabc')).to.deep.equal([]);
  });
});
