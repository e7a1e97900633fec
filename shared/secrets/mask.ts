import { base64Lines, encodingsOf } from './encodings.js';

const MASK = '***';
/** Shorter values ("1", "dev") would mask ordinary words; they hide nothing. */
export const SHORTEST_SECRET = 6;
/** Words that are settings and no secrets; to mask them would make every log unreadable. */
const TRIVIAL = new Set([
  ...['production', 'development', 'staging', 'testing', 'default', 'enabled', 'disabled', 'verbose', 'warning'],
  ...['localhost', '127.0.0.1', '0.0.0.0'],
]);
/** A longer value is looked for in parts, so that what has to be seen at once stays bounded. */
const LONGEST_PART = 1024;
const BASE = 31;
const OUTGOING = Math.imul(BASE ** 3, BASE ** 2);
const FILTER_BITS = 16;

/**
 * Replaces secret values in log lines, also where they are escaped or encoded (`encodings.ts`), a value of several lines
 * line by line. Values of fewer than six characters and a few words that are settings ("production") are left alone. The
 * cost of a line depends on its length, hardly on the number of secrets.
 */
export class Masker {
  /** What is looked for, by the hash of its first characters, the longest first. */
  readonly #needles = new Map<number, string[]>();
  /** Says quickly that no needle begins with characters of a hash. */
  readonly #filter = new Uint8Array(1 << FILTER_BITS);
  /** Length of the longest form of a secret: so much has to be seen behind a cut. */
  readonly lookahead: number;

  constructor(secrets: Iterable<string>) {
    const needles = new Set([...secrets].flatMap((secret) => [...needlesOf(secret)]));
    let longest = 0;
    for (const needle of [...needles].sort((a, b) => b.length - a.length)) {
      const hash = hashOf(needle);
      const others = this.#needles.get(hash);
      if (others) others.push(needle);
      else this.#needles.set(hash, [needle]);
      this.#filter[slotOf(hash)] = 1;
      longest = Math.max(longest, needle.length);
    }
    this.lookahead = longest;
  }

  mask(line: string): string {
    let masked = '';
    let from = 0;
    for (const [start, end] of this.#find(line)) {
      masked += line.slice(from, start) + MASK;
      from = end;
    }
    return from === 0 ? line : masked + line.slice(from);
  }

  /** The first place from `at` on that is not within a secret; `lookahead` characters behind `at` have to be there. */
  cut(text: string, at: number): number {
    for (const [start, end] of this.#find(text)) if (start < at && at < end) return end;
    return at;
  }

  /** Where secrets are, in order; those that overlap or touch are one. */
  #find(text: string): [start: number, end: number][] {
    const found: [number, number][] = [];
    if (this.#needles.size === 0 || text.length < SHORTEST_SECRET) return found;
    let hash = hashOf(text);
    for (let i = 0; ; i++) {
      if (this.#filter[slotOf(hash)] === 1) {
        const needle = this.#needles.get(hash)?.find((candidate) => text.startsWith(candidate, i));
        const last = found.at(-1);
        if (needle !== undefined && last && i <= last[1]) last[1] = Math.max(last[1], i + needle.length);
        else if (needle !== undefined) found.push([i, i + needle.length]);
      }
      if (i + SHORTEST_SECRET >= text.length) return found;
      const without = hash - Math.imul(text.charCodeAt(i), OUTGOING);
      hash = (Math.imul(without, BASE) + text.charCodeAt(i + SHORTEST_SECRET)) | 0;
    }
  }
}

function* needlesOf(secret: string): Generator<string> {
  const whole = secret.trim();
  const lines = whole.split(/\r?\n/).map((line) => line.trim());
  for (const value of new Set([whole, ...lines])) {
    if (value.length < SHORTEST_SECRET || TRIVIAL.has(value.toLowerCase())) continue;
    for (const part of partsOf(value)) {
      for (const form of encodingsOf(part)) if (form.length >= SHORTEST_SECRET) yield form;
    }
  }
  if (whole.length < SHORTEST_SECRET) return;
  for (const line of base64Lines(secret)) if (line.length >= SHORTEST_SECRET) yield line;
}

/** Parts of about the same length, none cut within a character. */
function partsOf(value: string): string[] {
  const size = Math.ceil(value.length / Math.ceil(value.length / LONGEST_PART));
  const parts: string[] = [];
  for (let start = 0; start < value.length; ) {
    const end = start + size;
    const high = value.charCodeAt(end - 1);
    const next = end < value.length && high >= 0xd800 && high <= 0xdbff ? end + 1 : end;
    parts.push(value.slice(start, next));
    start = next;
  }
  return parts;
}

/** Of the first characters of a text; `#find` rolls it on. */
function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < SHORTEST_SECRET; i++) hash = (Math.imul(hash, BASE) + text.charCodeAt(i)) | 0;
  return hash;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> FILTER_BITS)) & ((1 << FILTER_BITS) - 1);
}
