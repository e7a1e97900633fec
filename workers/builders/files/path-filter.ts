import { linearPattern } from '../../../shared/core/linear-pattern.js';

/**
 * Returns true if a file is part of the build. Patterns resemble those of .gitignore: a slash before the end anchors a
 * pattern at the root, a folder includes everything below it, and the last matching pattern decides.
 */
export type PathFilter = (path: string) => boolean;

/**
 * Creates a filter from two lists of patterns. It keeps the paths that match `includePaths`, or all paths if that list
 * is empty, except those that match `ignorePaths`.
 */
export function createPathFilter(includePaths: readonly string[], ignorePaths: readonly string[]): PathFilter {
  const included = selection(includePaths.map(parse));
  const ignored = selection(ignorePaths.map(parse));
  return (path) => (includePaths.length === 0 || included(path)) && !ignored(path);
}

/** Creates a filter from the lines of a .dockerignore, whose patterns are all anchored at the root. */
export function createDockerignore(lines: readonly string[]): PathFilter {
  const ignored = selection(
    lines
      .map((line) => (line.startsWith('!') ? `!${anchored(line.slice(1).trim())}` : anchored(line)))
      .filter((line) => !/^!?\/\.?$/.test(line))
      .map(parse),
  );
  return (path) => !ignored(path);
}

function anchored(pattern: string): string {
  return `/${withoutOuterSlashes(pattern)}`;
}

/** Removes leading `./` and `/` and trailing `/`. The loop is linear; a regular expression for the end would not be. */
function withoutOuterSlashes(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === '/') end -= 1;
  return pattern.slice(0, end).replace(/^(?:\.?\/)+/, '');
}

interface Pattern {
  negated: boolean;
  /** An RE2 expression for the beginning of a path with a slash appended, so that a folder includes all below it. */
  expression: string;
}

function parse(text: string): Pattern {
  const negated = text.startsWith('!');
  const body = negated ? text.slice(1) : text;
  const path = withoutOuterSlashes(body);
  const levels = path.split('/').map((level) => (level === '**' ? ANY_LEVELS : `${nameExpression(level)}/`));
  const isAnchored = path.includes('/') || /^\.?\//.test(body);
  // A pattern that ends with a slash matches only folders. A path inside the folder has a character after the slash.
  const below = body.endsWith('/') ? '[^/]' : '';
  return { negated, expression: `${isAnchored ? '' : ANY_LEVELS}${levels.join('')}${below}` };
}

const ANY_LEVELS = '(?:[^/]*/)*';
const NOTHING = '[^\\x{0}-\\x{10FFFF}]';

/** Combines patterns into a function that takes linear time, in which the last matching pattern decides. */
function selection(patterns: readonly Pattern[]): (path: string) => boolean {
  const runs: { negated: boolean; expressions: string[] }[] = [];
  for (const { negated, expression } of patterns) {
    const last = runs.at(-1);
    if (last?.negated === negated) last.expressions.push(expression);
    else runs.push({ negated, expressions: [expression] });
  }
  const compiled = runs
    .reverse()
    .map(({ negated, expressions }) => ({ negated, regex: linearPattern(`^(?:${expressions.join('|')})`) }));
  return (path) => compiled.find(({ regex }) => regex.test(`${path}/`))?.negated === false;
}

function nameExpression(name: string): string {
  let expression = '';
  for (const [part] of name.matchAll(/\*+|\[[!^]?\]?[^\]]*\]|\\.|./gsu)) {
    if (part.startsWith('*')) expression += '[^/]*';
    else if (part === '?') expression += '[^/]';
    else if (part.length > 2 && part.startsWith('[')) expression += characterClass(part.slice(1, -1));
    else expression += exactly(part.replace(/^\\(?=.)/su, ''));
  }
  return expression;
}

const SLASH = 0x2f;

/** Returns a character class that never matches the slash, even if a range contains it. */
function characterClass(body: string): string {
  const negated = /^[!^]/.test(body);
  const ranges = [...(negated ? body.slice(1) : body).matchAll(/(.)-(.)|(.)/gsu)]
    .map(([, from, to, single]) => [codeOf(single ?? from ?? ''), codeOf(single ?? to ?? '')] as const)
    .filter(([from, to]) => from <= to);
  if (negated) return `[^/${ranges.map(([from, to]) => `${hex(from)}-${hex(to)}`).join('')}]`;
  const parts = ranges.flatMap(([from, to]) =>
    from <= SLASH && SLASH <= to
      ? ([
          [from, SLASH - 1],
          [SLASH + 1, to],
        ] as const)
      : ([[from, to]] as const),
  );
  const text = parts.filter(([from, to]) => from <= to).map(([from, to]) => `${hex(from)}-${hex(to)}`);
  return text.length === 0 ? NOTHING : `[${text.join('')}]`;
}

function exactly(char: string): string {
  return /^[\w]$/.test(char) ? char : hex(codeOf(char));
}

function hex(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
