/**
 * `includePaths` and `ignorePaths`: patterns in the manner of .gitignore over the paths of the repository. A pattern
 * with a slash before its end is anchored at the repository's top, another one matches at any depth; a folder stands for
 * all below it; `*`, `?` and `[…]` stay within a name, `**` does not; `!` takes back, and the last pattern that matches
 * decides.
 */
export interface PathFilter {
  /** True where a file is part of the build. `path` is relative to the repository, with `/` between its parts. */
  keeps(path: string): boolean;
}

/** Files that no `includePaths` names, where there are any, and files that `ignorePaths` names are left out. */
export function createPathFilter(includePaths: readonly string[], ignorePaths: readonly string[]): PathFilter {
  const include = includePaths.map(compile);
  const ignore = ignorePaths.map(compile);
  return {
    keeps: (path) => {
      const parts = path.split('/');
      return (include.length === 0 || selects(include, parts)) && !selects(ignore, parts);
    },
  };
}

/**
 * The lines of a .dockerignore: as `ignorePaths`, but a pattern stands for a path from the top, however few slashes it
 * has, and `[^…]` is a class of other characters.
 */
export function createDockerignore(text: string): PathFilter {
  const patterns = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .map((line) => (line.startsWith('!') ? `!${anchored(line.slice(1).trim())}` : anchored(line)))
    .filter((line) => !/^!?\/\.?$/.test(line))
    .map(compile);
  return { keeps: (path) => !selects(patterns, path.split('/')) };
}

function anchored(pattern: string): string {
  return `/${pattern.replace(/^(\.?\/)+|\/+$/g, '')}`;
}

interface Pattern {
  negated: boolean;
  foldersOnly: boolean;
  /** A name's pattern for each level; `**` is any number of levels. */
  levels: (Token[] | '**')[];
}

/** One character of a name: `*` is any number of them. */
type Token = '*' | { matches: (char: string) => boolean };

function compile(text: string): Pattern {
  const negated = text.startsWith('!');
  const body = negated ? text.slice(1) : text;
  const foldersOnly = body.endsWith('/');
  const path = body.replace(/^(\.?\/)+|\/+$/g, '');
  const anchored = path.includes('/') || /^\.?\//.test(body);
  const levels = path.split('/').map((level) => (level === '**' ? level : tokens(level)));
  return { negated, foldersOnly, levels: anchored ? levels : ['**', ...levels] };
}

function tokens(level: string): Token[] {
  const found: Token[] = [];
  for (const [part] of level.matchAll(/\*+|\[[!^]?\]?[^\]]*\]|\\.|./gsu)) {
    if (part.startsWith('*')) found.push('*');
    else if (part === '?') found.push({ matches: () => true });
    else if (part.length > 2 && part.startsWith('[')) found.push({ matches: characterClass(part.slice(1, -1)) });
    else found.push({ matches: (char) => char === part.replace(/^\\(?=.)/su, '') });
  }
  return found;
}

function characterClass(body: string): (char: string) => boolean {
  const negated = /^[!^]/.test(body);
  const ranges = [...(negated ? body.slice(1) : body).matchAll(/(.)-(.)|(.)/gsu)].map(([, from, to, single]) => {
    return { from: single ?? from ?? '', to: single ?? to ?? '' };
  });
  return (char) => ranges.some(({ from, to }) => char >= from && char <= to) !== negated;
}

function selects(patterns: readonly Pattern[], parts: readonly string[]): boolean {
  return patterns.findLast((pattern) => covers(pattern, parts))?.negated === false;
}

/** The pattern names the file or a folder above it. */
function covers({ levels, foldersOnly }: Pattern, parts: readonly string[]): boolean {
  for (let length = foldersOnly ? parts.length - 1 : parts.length; length > 0; length--) {
    const matched = wildcard(
      levels,
      parts.slice(0, length),
      (level): level is '**' => level === '**',
      (level, name) => level !== '**' && nameMatches(level, name),
    );
    if (matched) return true;
  }
  return false;
}

function nameMatches(name: readonly Token[], text: string): boolean {
  return wildcard(
    name,
    [...text],
    (token): token is '*' => token === '*',
    (token, char) => token !== '*' && token.matches(char),
  );
}

/** Matches a whole sequence against a pattern with wildcards for any number of items; never worse than n × m steps. */
function wildcard<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isWildcard: (part: P) => boolean,
  matches: (part: P, item: T) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let retry: { p: number; i: number } | null = null;
  while (i < items.length) {
    const part = pattern[p];
    if (part !== undefined && isWildcard(part)) {
      retry = { p: p + 1, i };
      p += 1;
    } else if (part !== undefined && matches(part, items[i] as T)) {
      p += 1;
      i += 1;
    } else if (retry !== null) {
      retry.i += 1;
      ({ p, i } = retry);
    } else {
      return false;
    }
  }
  return pattern.slice(p).every(isWildcard);
}
