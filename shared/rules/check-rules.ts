import type { ErrorDetail } from '../core/error-registry.js';
import { pointerPart } from '../core/json-fields.js';
import { findLoop } from './find-loop.js';
import { FIELDS, MAX_USERS, REDIRECT_STATUSES, type RuleInput } from './model.js';
import { moveOf } from './moves.js';
import { compilePattern, PatternError } from './path-pattern.js';
import { headerProblem, isHeaderValue } from './rule-headers.js';
import { namesInQuery } from './target-template.js';

/** Patterns are paths and not regular expressions, so they may contain these characters only percent-encoded. */
const NOT_IN_PATTERNS = /[()[\]{}|^\\<>"`\s?#]/;
const MAX_DETAILS = 20;

/** Lists what is wrong with rules whose fields have the right types. Each path is a JSON pointer into the body. */
export function problemsOfRules(rules: readonly RuleInput[]): ErrorDetail[] {
  const problems = rules.flatMap((rule, at) =>
    [...fieldProblems(rule), ...valueProblems(rule)].map(({ path, message }) => ({
      path: `/rules/${at}${path}`,
      message,
    })),
  );
  const users = rules.reduce((sum, rule) => sum + (rule.users?.length ?? 0), 0);
  if (users > MAX_USERS) problems.push({ path: '/rules', message: `must have at most ${MAX_USERS} users together` });
  const [, second] = [...rules.keys()].filter((at) => rules[at]?.type === 'canary');
  if (second !== undefined) problems.push({ path: `/rules/${second}/type`, message: 'must not be canary twice' });
  if (problems.length > 0) return problems.slice(0, MAX_DETAILS);
  const loop = findLoop(rules.map((rule) => moveOf(rule)));
  return loop === null
    ? []
    : [{ path: `/rules/${loop.at}/to`, message: `redirects in a loop: ${loop.paths.join(' → ')}` }];
}

function fieldProblems(rule: RuleInput): ErrorDetail[] {
  const { needs, may } = FIELDS[rule.type];
  const given = Object.keys(rule).filter((field) => field !== 'type') as (keyof RuleInput)[];
  const missing = needs.filter((field) => rule[field] === undefined);
  const foreign = given.filter((field) => !needs.includes(field) && !may.includes(field));
  const problems = [
    ...missing.map((field) => ({ path: `/${field}`, message: 'is required' })),
    ...foreign.map((field) => ({ path: `/${field}`, message: `is no field of a rule of type ${rule.type}` })),
  ];
  if (rule.type !== 'headers' || rule.set !== undefined || (rule.remove ?? []).length > 0) return problems;
  return [...problems, { path: '/set', message: 'is required unless remove names a header' }];
}

function valueProblems(rule: RuleInput): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const add = (path: string, message: string | null) => {
    if (message !== null) problems.push({ path, message });
  };
  if (rule.for !== undefined) add('/for', patternProblem(rule.for));
  if (rule.from !== undefined) add('/from', patternProblem(rule.from));
  if (rule.to !== undefined) add('/to', targetProblem(rule));
  if (rule.status !== undefined && !REDIRECT_STATUSES.some((status) => status === rule.status)) {
    add('/status', `must be one of ${REDIRECT_STATUSES.join(', ')}`);
  }
  const captured = namesInQuery(rule.query ?? {});
  const twice = captured.find(
    (name, at) => captured.indexOf(name) !== at || (rule.from ?? '').split('/').includes(`:${name}`),
  );
  if (twice !== undefined) add('/query', `has the placeholder :${twice}, which the rule has already`);
  for (const [name, value] of Object.entries(rule.set ?? {})) {
    add(
      `/set/${pointerPart(name)}`,
      headerProblem(name, 'set') ?? (isHeaderValue(value) ? null : 'must be a value of a header'),
    );
  }
  for (const [at, name] of rule.remove?.entries() ?? []) add(`/remove/${at}`, headerProblem(name, 'remove'));
  const names = rule.users?.map(({ name }) => name) ?? [];
  for (const [at, name] of names.entries()) {
    add(`/users/${at}/name`, names.indexOf(name) === at ? null : 'is given twice');
  }
  return problems;
}

function patternProblem(text: string): string | null {
  const bad = NOT_IN_PATTERNS.exec(text)?.[0];
  if (bad !== undefined)
    return `must not have ${JSON.stringify(bad)}: a pattern has segments, :name and *, and is no regular expression`;
  if (text.split('*').length > 2) return 'must have at most one *';
  const name = text.split('/').find((segment) => segment.startsWith(':') && !/^:[A-Za-z_][A-Za-z0-9_]*$/.test(segment));
  if (name !== undefined) return `has ${name}, which is no placeholder: its name has letters, digits and _`;
  if (text.split('/').includes(':splat')) return 'must not name a placeholder :splat, which stands for *';
  try {
    compilePattern(text);
    return null;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

function targetProblem({ type, from = '', to = '', query = {} }: RuleInput): string | null {
  const isAddress = /^https?:\/\//.test(to);
  if (!isAddress && (!to.startsWith('/') || to.startsWith('//'))) return 'must be a path or an http or https address';
  if (/[\s\\]/.test(to)) return 'must not have spaces or backslashes';
  if (type === 'rewrite' && isAddress) return 'must be a path: a rewrite stays on the service';
  if (type === 'rewrite' && to.includes('#')) return 'must not have a fragment';
  if (isAddress && !isUrl(to)) return 'must be an address whose host has no placeholder';
  const known = [
    ...from.split('/').filter((segment) => segment.startsWith(':')),
    ...namesInQuery(query).map((name) => `:${name}`),
  ];
  if (from.includes('*')) known.push(':splat');
  // The colons in `https://host:8080` begin no placeholder such as `:name`, so the origin is removed first.
  const asked = to.replace(/^https?:\/\/[^/?#]*/, '').match(/:[A-Za-z_][A-Za-z0-9_]*/g) ?? [];
  const unknown = asked.find((name) => !known.some((one) => name.startsWith(one)));
  return unknown === undefined ? null : `has ${unknown}, which from does not have`;
}

function isUrl(to: string): boolean {
  const host = /^https?:\/\/([^/?#]*)/.exec(to)?.[1] ?? '';
  return /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(host) && URL.canParse(to);
}
