import type { MoveRule, Rule, RuleInput } from './model.js';
import { type Captures, compilePattern, matchPath, type PathPattern, type RulePath } from './path-pattern.js';
import {
  compileTarget,
  fillTarget,
  matchQuery,
  namesInQuery,
  type Target,
  type TargetTemplate,
} from './target-template.js';

export interface Move {
  rule: MoveRule;
  /** The origin that the request must have; '' for any. */
  origin: string;
  pattern: PathPattern;
  target: TargetTemplate;
  /** Names of the query parameters that the rule requires. They are left out of the query that the target gets. */
  used: readonly string[];
}

export interface MoveRequest {
  path: RulePath;
  /** Without the `?`. */
  query: string;
  /** The origin of the request, such as `https://shop.example.com`. */
  origin: string;
}

/** Compiles a rule. Throws `PatternError`. */
export function compileMove(rule: MoveRule): Move {
  const [, origin = '', from = ''] = /^(https?:\/\/[^/]*)?(.*)$/s.exec(rule.from) ?? [];
  const pattern = compilePattern(from === '' ? '/' : from);
  const names = pattern.head.flatMap((part) => (typeof part === 'string' ? [] : [part.name]));
  const splat = pattern.pieces === null ? [] : ['splat'];
  const target = compileTarget(rule.to, [...names, ...namesInQuery(rule.query), ...splat]);
  return { rule, origin: origin.toLowerCase(), pattern, target, used: Object.keys(rule.query) };
}

/** Compiles a redirect or a rewrite. Returns null for a rule of another type. Throws `PatternError`. */
export function moveOf(rule: Rule | RuleInput): Move | null {
  if (rule.type !== 'redirect' && rule.type !== 'rewrite') return null;
  const { from = '/', to = '/', force = false, query = {} } = rule;
  const status = rule.type === 'rewrite' ? 200 : (rule.status ?? 301);
  return compileMove({ from, to, status, force, query });
}

/** Returns the target of the request; null if the rule does not match it. */
export function matchMove(move: Move, { path, query, origin }: MoveRequest): Target | null {
  const ofPath = matchPath(move.pattern, path);
  if (ofPath === null || (move.origin !== '' && move.origin !== origin)) return null;
  const ofQuery: Captures | null = move.used.length === 0 ? {} : matchQuery(move.rule.query, query);
  return ofQuery === null ? null : fillTarget(move.target, { ...ofQuery, ...ofPath }, query, move.used);
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}
