/** Bases of two independent polynomial hashes modulo 2^32. Two texts count as equal if both hashes are equal. */
const BASES = [0x01000193, 0x85ebca6b] as const;

/** The powers of both bases. A longer text replaces these tables by longer ones. */
let powers = BASES.map((base) => powersOf(base, 1024));

/** Computes the hash of any part of a text in constant time. */
class PartHashes {
  readonly #sums: [Int32Array, Int32Array];

  constructor(text: string) {
    if (text.length >= (powers[0]?.length ?? 0)) powers = BASES.map((base) => powersOf(base, text.length * 2));
    this.#sums = [new Int32Array(text.length + 1), new Int32Array(text.length + 1)];
    const [first, second] = this.#sums;
    let [a, b] = [0, 0];
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i) + 1;
      a = (Math.imul(a, BASES[0]) + unit) | 0;
      b = (Math.imul(b, BASES[1]) + unit) | 0;
      first[i + 1] = a;
      second[i + 1] = b;
    }
  }

  of(which: 0 | 1, start: number, length: number): number {
    const sums = this.#sums[which];
    const power = powers[which]?.[length] as number;
    return ((sums[start + length] as number) - Math.imul(sums[start] as number, power)) | 0;
  }
}

function powersOf(base: number, size: number): Int32Array {
  const powers = new Int32Array(size);
  powers[0] = 1;
  for (let i = 1; i < size; i++) powers[i] = Math.imul(powers[i - 1] ?? 0, base);
  return powers;
}

/**
 * A hash table of marks (see `PrefixIndex`), keyed by length and hash. Open addressing in typed arrays is several times
 * as fast as a Map, and takes a third of its memory.
 */
class Marks {
  #slots = new Int32Array(4 * 1024);
  #size = 0;

  /** Returns the length of the longest pattern that is a prefix of the mark; -1 if there is no such mark. */
  get(length: number, first: number, second: number): number {
    const slots = this.#slots;
    const at = placeOf(slots, length, first, second);
    return slots[at] === 0 ? -1 : (slots[at + 3] as number);
  }

  set(length: number, first: number, second: number, pattern: number): void {
    if (this.#size * 2 > this.#slots.length / 4) this.#grow();
    const at = placeOf(this.#slots, length, first, second);
    if (this.#slots[at] === 0) this.#size += 1;
    this.#slots.set([length, first, second, pattern], at);
  }

  #grow(): void {
    const old = this.#slots;
    const slots = new Int32Array(old.length * 2);
    for (let at = 0; at < old.length; at += 4) {
      if (old[at] === 0) continue;
      const place = placeOf(slots, old[at] as number, old[at + 1] as number, old[at + 2] as number);
      for (let i = 0; i < 4; i++) slots[place + i] = old[at + i] as number;
    }
    this.#slots = slots;
  }
}

/** Returns a mark's index, or where to insert it. A mark takes four numbers; the first is 0 in an empty place. */
function placeOf(slots: Int32Array, length: number, first: number, second: number): number {
  const mask = slots.length / 4 - 1;
  const mixed = Math.imul(first ^ (second >>> 15) ^ Math.imul(length, 0x9e3779b1), 0x2c1b3c6d);
  for (let place = (mixed ^ (mixed >>> 16)) & mask; ; place = (place + 1) & mask) {
    const at = place * 4;
    if (slots[at] === 0) return at;
    if (slots[at] === length && slots[at + 1] === first && slots[at + 2] === second) return at;
  }
}

export const MIN_PATTERN_LENGTH = 6;
const OUTGOING = [1, 2, 3, 4, 5].reduce((power) => Math.imul(power, BASES[0]), 1);
const FILTER_BITS = 16;

/**
 * Finds, at every position of a text, the longest of many patterns that starts there.
 *
 * Waldvogel's search for the longest matching prefix is a binary search for the length. A mark is a prefix of a
 * pattern, and has a length that the search tries. Each mark stores the length of the longest pattern that is a prefix
 * of the mark. Thus a search that follows a mark but finds no longer pattern still knows the best match so far.
 *
 * An Aho-Corasick automaton would take 30 times the memory: 64 KiB of secrets become 1.2 million states in
 * modern-ahocorasick. That library also misses a secret before a combining mark.
 */
export class PrefixIndex {
  readonly #marks = new Marks();
  /** Quickly excludes positions at which no pattern can start, by a hash of the first characters. */
  readonly #filter = new Uint8Array(1 << FILTER_BITS);
  readonly #highest: number;
  readonly longest: number;

  constructor(patterns: Iterable<string>) {
    const sorted = [...new Set(patterns)].filter(({ length }) => length >= MIN_PATTERN_LENGTH);
    sorted.sort((a, b) => a.length - b.length);
    this.longest = sorted.at(-1)?.length ?? 0;
    this.#highest = 2 ** Math.floor(Math.log2(Math.max(1, this.longest)));
    for (const pattern of sorted) this.#add(pattern);
  }

  /** Calls `visit`, in order, with each position where a pattern starts and the length of the longest one there. */
  each(text: string, visit: (start: number, length: number) => void): void {
    if (this.longest === 0 || text.length < MIN_PATTERN_LENGTH) return;
    let hashes: PartHashes | undefined;
    let first = firstHash(text);
    for (let start = 0; ; start++) {
      if (this.#filter[slotOf(first)] === 1) {
        hashes ??= new PartHashes(text);
        const length = this.#search(hashes, start, text.length - start);
        if (length > 0) visit(start, length);
      }
      if (start + MIN_PATTERN_LENGTH >= text.length) return;
      const without = first - Math.imul(text.charCodeAt(start), OUTGOING);
      first = (Math.imul(without, BASES[0]) + text.charCodeAt(start + MIN_PATTERN_LENGTH)) | 0;
    }
  }

  /** Patterns must be added in ascending length, so that each mark's prefixes are already present. */
  #add(pattern: string): void {
    const { length } = pattern;
    const hashes = new PartHashes(pattern);
    this.#filter[slotOf(firstHash(pattern))] = 1;
    for (let step = this.#highest, reached = 0; step >= 1; step /= 2) {
      const mark = reached + step;
      if (mark > length) continue;
      reached = mark;
      const [first, second] = [hashes.of(0, 0, mark), hashes.of(1, 0, mark)];
      if (mark === length) this.#marks.set(mark, first, second, length);
      else if (this.#marks.get(mark, first, second) < 0) {
        this.#marks.set(mark, first, second, this.#search(hashes, 0, mark));
      }
    }
  }

  /** Returns the length of the longest pattern of at most `most` characters that starts at `start`; 0 for none. */
  #search(hashes: PartHashes, start: number, most: number): number {
    let [reached, found] = [0, 0];
    for (let step = this.#highest; step >= 1; step /= 2) {
      const length = reached + step;
      if (length > most) continue;
      const known = this.#marks.get(length, hashes.of(0, start, length), hashes.of(1, start, length));
      if (known < 0) continue;
      reached = length;
      if (known > found) found = known;
    }
    return found;
  }
}

/** A rolling hash: `each` computes the hash at each later position from the previous one. */
function firstHash(text: string): number {
  let hash = 0;
  for (let i = 0; i < MIN_PATTERN_LENGTH; i++) hash = (Math.imul(hash, BASES[0]) + text.charCodeAt(i)) | 0;
  return hash;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> FILTER_BITS)) & ((1 << FILTER_BITS) - 1);
}
