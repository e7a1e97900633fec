/** A path without empty and dot segments, uniformly percent-encoded, so that no spelling of a path evades a rule. */
export interface RulePath {
  segments: readonly string[];
  /** True if the path ends with a slash and is not `/`. */
  slash: boolean;
}

/** Placeholder → the part of the path that it matched. `*` has the name `splat`. */
export type Captures = Readonly<Record<string, string>>;

/** A pattern of segments that are literal or `:name`, and optionally a text with `*`. Matching takes linear time. */
export interface PathPattern {
  head: readonly (string | { name: string })[];
  /** The part of the pattern from its first segment with `*` to its end, split at each `*`; null if there is no `*`. */
  pieces: readonly string[] | null;
  /** True if the first `*` begins a segment. The slash before it is then optional: `/a/*` also matches `/a`. */
  isWhole: boolean;
  ignoresCase: boolean;
}

/** Thrown for an invalid pattern. The message completes "The pattern …". */
export class PatternError extends Error {}

/** A path segment without any of these characters needs no change of its percent-encoding. */
const UNUSUAL = /[^\x21\x24\x26-\x3b\x3d\x40-\x5b\x5d\x5f\x61-\x7a\x7e]/;
const UNPRINTABLE = /[^\x21-\x7e]+/gu;
/** Encodings of characters that a path may contain unencoded. */
const NEEDLESS = /%(?:24|26|2B|2C|3A|3B|3D|40|5B|5D)/g;

/** Returns a path segment with a uniform percent-encoding. The result is valid in a header. */
export function encodedSegment(segment: string): string {
  if (!UNUSUAL.test(segment)) return segment;
  const ascii = segment.replace(UNPRINTABLE, encodeURIComponent);
  try {
    return encodeURIComponent(decodeURIComponent(ascii)).replace(NEEDLESS, decodeURIComponent);
  } catch {
    return ascii;
  }
}

/** Returns the path of a request target or of a rule. The text must not include a query. */
export function rulePath(pathname: string): RulePath {
  const segments: string[] = [];
  for (const part of pathname.split('/')) {
    const segment = encodedSegment(part);
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return { segments, slash: segments.length > 0 && pathname.endsWith('/') };
}

/** Returns the path with encoded slashes and backslashes read as slashes, as some applications do. */
export function laxPath(pathname: string): RulePath {
  return rulePath(pathname.replace(/%2f|%5c|\\/gi, '/'));
}

/** Compiles a pattern such as `/blog/:year/*`. Throws `PatternError`. */
export function compilePattern(text: string, { ignoresCase = false } = {}): PathPattern {
  if (!text.startsWith('/')) throw new PatternError('must start with /');
  const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw new PatternError('must not have the segment ..');
  const names = segments.filter(isPlaceholder).map((segment) => segment.slice(1));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new PatternError(`has the placeholder :${twice} twice`);
  const literal = (part: string) => (ignoresCase ? encodedSegment(part).toLowerCase() : encodedSegment(part));
  const star = segments.findIndex((segment) => segment.includes('*'));
  const whole = star < 0 ? segments : segments.slice(0, star);
  const rest = star < 0 ? [] : segments.slice(star);
  if (rest.some(isPlaceholder)) throw new PatternError('must not have a placeholder after *');
  const pieces =
    star < 0
      ? null
      : rest
          .join('/')
          .split('*')
          .map((piece) => piece.split('/').map(literal).join('/'));
  return {
    head: whole.map((segment) => (isPlaceholder(segment) ? { name: segment.slice(1) } : literal(segment))),
    pieces,
    isWhole: pieces?.[0] === '',
    ignoresCase,
  };
}

function isPlaceholder(segment: string): boolean {
  return segment.length > 1 && segment.startsWith(':');
}

/** Returns the values of the placeholders and of `*`; null if the path does not match. */
export function matchPath(pattern: PathPattern, { segments, slash }: RulePath): Captures | null {
  const { head, pieces, ignoresCase } = pattern;
  if (pieces === null ? segments.length !== head.length : segments.length < head.length) return null;
  let captures: Record<string, string> | null = null;
  for (let i = 0; i < head.length; i++) {
    const part = head[i] as PathPattern['head'][number];
    const segment = segments[i] as string;
    if (typeof part !== 'string') {
      captures ??= {};
      captures[part.name] = segment;
    } else if (part !== segment && !(ignoresCase && part === segment.toLowerCase())) return null;
  }
  if (pieces === null) return captures ?? NOTHING;
  const splat = matchRest(pattern, pieces, segments.slice(head.length).join('/'), slash);
  return splat === null ? null : { ...captures, splat };
}

const NOTHING: Captures = {};

/** Returns the text that the first `*` matches; null if the rest of the path does not match. */
function matchRest(
  { isWhole, ignoresCase }: PathPattern,
  pieces: readonly string[],
  rest: string,
  slash: boolean,
): string | null {
  const last = pieces.at(-1) ?? '';
  const closed = slash && last === '' && rest !== '' ? `${rest}/` : rest;
  const text = isWhole && closed !== '' ? `/${closed}` : closed;
  const compared = ignoresCase ? text.toLowerCase() : text;
  const first = pieces[0] ?? '';
  const end = compared.length - last.length;
  if (!compared.startsWith(first) || !compared.endsWith(last) || end < first.length) return null;
  let at = first.length;
  let splatEnd = end;
  for (let i = 1; i < pieces.length - 1; i++) {
    const piece = pieces[i] ?? '';
    const found = compared.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return null;
    if (i === 1) splatEnd = found;
    at = found + piece.length;
  }
  return text.slice(isWhole ? 1 : first.length, splatEnd);
}
