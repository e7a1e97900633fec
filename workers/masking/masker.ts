import { MIN_PATTERN_LENGTH, PrefixIndex } from './prefix-index.js';
import { base64Lines, encodingsOf, quotingsOf } from './secret-encodings.js';

const MASK = '***';
/** Shorter values ("1", "dev") are not masked: they are no secrets, and ordinary words contain them. */
const MIN_SECRET_LENGTH = MIN_PATTERN_LENGTH;
/** Values that are settings, not secrets. Masking them would make every log unreadable. */
const TRIVIAL = new Set([
  ...['production', 'development', 'staging', 'testing', 'default', 'enabled', 'disabled', 'verbose', 'warning'],
  ...['localhost', '127.0.0.1', '0.0.0.0'],
]);
/** Longer secrets are searched for in parts, so that a long line can be split early (see `lookahead`). */
const MAX_PART_LENGTH = 1024;

/**
 * Replaces secret values in log lines, even if they are escaped or encoded (`secret-encodings.ts`). The time per line
 * does not depend on the number of secrets. A masker takes about 25 times the memory of the secrets.
 */
export class Masker {
  readonly #needles: PrefixIndex;

  constructor(secrets: Iterable<string>) {
    const needles = new Set<string>();
    for (const secret of new Set(secrets)) for (const needle of needlesOf(secret)) needles.add(needle);
    this.#needles = new PrefixIndex(needles);
  }

  /**
   * Length of the longest form of a secret. To split a text at a position, this many characters after it must be known.
   */
  get lookahead(): number {
    return this.#needles.longest;
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

  /** Returns the first position from `at` on that is not inside a secret. Needs `lookahead` characters after `at`. */
  cut(text: string, at: number): number {
    for (const [start, end] of this.#find(text)) if (start < at && at < end) return end;
    return at;
  }

  /** Returns the positions in order. Secrets that overlap or touch are merged. */
  #find(text: string): [start: number, end: number][] {
    const found: [number, number][] = [];
    this.#needles.each(text, (start, length) => {
      const last = found.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], start + length);
      else found.push([start, start + length]);
    });
    return found;
  }
}

function* needlesOf(secret: string): Generator<string> {
  const whole = secret.trim();
  if (whole.length < MIN_SECRET_LENGTH) return;
  if (isSecret(whole)) for (const part of partsOf(whole)) yield* encodingsOf(part);
  // Programs encode a multi-line value as base64 only as a whole. Single lines appear as they are or escaped.
  const lines = whole.includes('\n') ? new Set(whole.split(/\r?\n/).map((line) => line.trim())) : [];
  for (const line of lines) if (isSecret(line)) for (const part of partsOf(line)) yield* quotingsOf(part);
  yield* base64Lines(secret);
}

function isSecret(value: string): boolean {
  return value.length >= MIN_SECRET_LENGTH && !TRIVIAL.has(value.toLowerCase());
}

/** Splits a value into parts of about the same length, never within a character. */
function partsOf(value: string): string[] {
  const size = Math.ceil(value.length / Math.ceil(value.length / MAX_PART_LENGTH));
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
