import type { RuleUser, SiteRules } from '../../../shared/rules/model.js';
import { compileMove, isRedirect } from '../../../shared/rules/moves.js';
import { compilePattern, PatternError } from '../../../shared/rules/path-pattern.js';
import { headerProblem, isHeaderValue } from '../../../shared/rules/rule-headers.js';
import { hashPassword, QUICK } from '../../../shared/secrets/password.js';
import { fileAt } from '../files/project-files.js';

const MAX_BYTES = 128 * 1024;
/** Maximum number of users in `_headers`, because hashing a password takes some 50 ms. */
const MAX_USERS = 20;
const MAX_RULES = 1_000;
/** HTTP statuses that a rule of `_redirects` may have: for rewrites, redirects and error pages. */
const STATUSES = [200, 301, 302, 303, 307, 308, 404, 410];
/** Maximum number of notes, so that a file in another format does not flood the log. */
const MAX_NOTES = 10;

/** Reads `_redirects` and `_headers` of a published folder as Netlify does. `notes` are about ignored rules. */
export async function readSiteRules(folder: string): Promise<{ rules: SiteRules | null; notes: string[] }> {
  const notes: string[] = [];
  const moves = await readMoves(folder, notes);
  const { headers, auth } = await readHeaders(folder, notes);
  const rest = notes.length - MAX_NOTES;
  return {
    rules: moves.length + headers.length + auth.length === 0 ? null : { moves, headers, auth },
    notes:
      rest > 0 ? [...notes.slice(0, MAX_NOTES), `${rest} more rules of _redirects and _headers are ignored`] : notes,
  };
}

interface ParsedRedirect {
  from: string;
  to: string;
  status?: number;
  force: boolean;
  query: Record<string, string>;
  conditions: Record<string, unknown>;
  signed?: string;
}

async function readMoves(folder: string, notes: string[]): Promise<SiteRules['moves']> {
  const path = await fileToRead(folder, '_redirects', notes);
  if (path === null) return [];
  const { parseAllRedirects } = await import('@netlify/redirect-parser');
  const parsed = await parseAllRedirects({ redirectsFiles: [path], configRedirects: [], minimal: true });
  for (const error of parsed.errors) notes.push(`_redirects: ${oneLine(error)}`);
  const moves: SiteRules['moves'] = [];
  for (const rule of parsed.redirects as ParsedRedirect[]) {
    const { from, to, status = 301, force, query } = rule;
    const problem = redirectProblem({ ...rule, status });
    if (problem === null) moves.push({ from, to, status, force, query });
    else notes.push(`_redirects: the rule for ${from} is ignored: ${problem}`);
  }
  return atMost(moves, '_redirects', notes);
}

function redirectProblem(rule: ParsedRedirect & { status: number }): string | null {
  const { from, to, status, force, query, signed } = rule;
  const [condition] = Object.keys(rule.conditions);
  if (condition !== undefined) return `the condition ${condition} is not supported`;
  if (signed !== undefined) return 'signed requests to other hosts are not supported';
  if (!STATUSES.includes(status)) return `the status must be one of ${STATUSES.join(', ')}`;
  if (/^https?:/.test(to) && !isRedirect(status)) return 'a rewrite to another host is not supported; use a redirect';
  if (/^https?:\/\/[^/?#]*:[A-Za-z_*]/.test(to)) return 'the host of its target must not have a placeholder';
  return patternProblem(() => compileMove({ from, to, status, force, query }));
}

async function readHeaders(folder: string, notes: string[]): Promise<Pick<SiteRules, 'headers' | 'auth'>> {
  const path = await fileToRead(folder, '_headers', notes);
  if (path === null) return { headers: [], auth: [] };
  const { parseAllHeaders } = await import('@netlify/headers-parser');
  const parsed = await parseAllHeaders({ headersFiles: [path], configHeaders: [], minimal: true });
  for (const error of parsed.errors) notes.push(`_headers: ${oneLine(error)}`);
  const headers: SiteRules['headers'] = [];
  const auth: SiteRules['auth'] = [];
  for (const { for: pattern, values } of parsed.headers) {
    const wrong = patternProblem(() => compilePattern(pattern));
    const passwords = Object.entries(values).filter(([name]) => isPassword(name));
    for (const [, value] of passwords) {
      const hashed = auth.reduce((sum, { users }) => sum + users.length, 0);
      // If the pattern is invalid, the password protects the whole site.
      auth.push({ for: wrong === null ? pattern : '/*', users: await usersOf(value, MAX_USERS - hashed) });
    }
    if (wrong !== null) {
      notes.push(`_headers: the headers for ${pattern} are ignored: ${wrong}`);
      continue;
    }
    const kept: Record<string, string> = {};
    for (const [name, value] of Object.entries(values)) {
      if (isPassword(name)) continue;
      const problem =
        headerProblem(name, 'set') ?? (isHeaderValue(value) ? null : 'has a value that no header can have');
      if (problem === null) kept[name] = value;
      else notes.push(`_headers: the header ${name} for ${pattern} is ignored: it ${problem}`);
    }
    if (Object.keys(kept).length > 0) headers.push({ for: pattern, values: kept });
  }
  return { headers: atMost(headers, '_headers', notes), auth: atMost(auth, '_headers', notes) };
}

function isPassword(header: string): boolean {
  return header.toLowerCase() === 'basic-auth';
}

/** Reads `anna:password bert:password`. Users after the first `most` get no hash, so that every password is wrong. */
async function usersOf(value: string, most: number): Promise<RuleUser[]> {
  const users: RuleUser[] = [];
  for (const pair of value.split(/[\s,]+/).filter((text) => text !== '')) {
    const [name = '', ...password] = pair.split(':');
    const isKnown = password.length > 0 && users.length < most;
    users.push({ name, hash: isKnown ? await hashPassword(password.join(':'), QUICK) : null });
  }
  return users;
}

async function fileToRead(folder: string, name: string, notes: string[]): Promise<string | null> {
  const found = await fileAt(folder, name);
  if (found === null || found.size <= MAX_BYTES) return found?.path ?? null;
  notes.push(`${name} is ignored: it has more than ${MAX_BYTES / 1024} KiB`);
  return null;
}

function atMost<T>(rules: T[], name: string, notes: string[]): T[] {
  if (rules.length > MAX_RULES) notes.push(`${name}: only the first ${MAX_RULES} of ${rules.length} rules count`);
  return rules.slice(0, MAX_RULES);
}

function patternProblem(compile: () => unknown): string | null {
  try {
    compile();
    return null;
  } catch (error) {
    if (error instanceof PatternError) return `its pattern ${error.message}`;
    throw error;
  }
}

function oneLine(error: Error): string {
  return error.message.replace(/\s+/g, ' ').trim();
}
