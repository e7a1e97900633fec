import { isRedirect, type Move, matchMove } from './moves.js';
import { rulePath } from './path-pattern.js';

/** Browsers give up after this many redirects. */
const MAX_REDIRECTS = 20;
const SAMPLE = 'x';

/**
 * Finds a redirect that leads in a circle or to over 20 further redirects. Follows an example request of each redirect.
 * `moves` has null for rules of other types. Returns the position of the rule and the paths of the requests.
 */
export function findLoop(moves: readonly (Move | null)[]): { at: number; paths: string[] } | null {
  const among = moves.filter((move) => move !== null);
  /** Requests that are known to lead neither in a circle nor to too many redirects. */
  const ending = new Set<string>();
  for (const [at, move] of moves.entries()) {
    if (move === null || !isRedirect(move.rule.status) || move.target.origin !== '') continue;
    const seen: string[] = [exampleOf(move)];
    for (let hop = 0; ; hop++) {
      const next = followed(among, seen.at(-1) ?? '/');
      if (next === null || ending.has(next)) break;
      const again = seen.indexOf(next);
      seen.push(next);
      if (again >= 0 || hop >= MAX_REDIRECTS) return { at, paths: seen.slice(Math.max(again, 0)).slice(0, 5) };
    }
    for (const one of seen) ending.add(one);
  }
  return null;
}

function exampleOf({ pattern, rule }: Move): string {
  const head = pattern.head.map((part) => (typeof part === 'string' ? part : SAMPLE));
  const rest = pattern.pieces === null ? [] : [pattern.pieces.join(SAMPLE)];
  const query = Object.entries(rule.query).map(
    ([name, value]) => `${encodeURIComponent(name)}=${value.startsWith(':') ? SAMPLE : encodeURIComponent(value)}`,
  );
  return `/${[...head, ...rest].join('/')}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** Returns the URL on this host to which a request is redirected; null if there is no such redirect. */
function followed(moves: readonly Move[], url: string): string | null {
  const [pathname = '/', query = ''] = url.split('?');
  const path = rulePath(pathname);
  for (const move of moves) {
    const target = matchMove(move, { path, query, origin: '' });
    if (target === null) continue;
    if (!isRedirect(move.rule.status) || target.origin !== '') return null;
    const { segments } = rulePath(target.path);
    return `/${segments.join('/')}${target.query === '' ? '' : `?${target.query}`}`;
  }
  return null;
}
