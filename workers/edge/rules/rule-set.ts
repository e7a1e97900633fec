import type { Rule, RuleUser } from '../../../shared/rules/model.js';
import { compileMove, type Move, moveOf } from '../../../shared/rules/moves.js';
import { compilePattern, type PathPattern } from '../../../shared/rules/path-pattern.js';
import type { RuleSource } from '../../../shared/rules/store.js';
import type { Target } from '../../../shared/rules/target-template.js';
import { CredentialMemory } from './credential-check.js';
import { RateCounts } from './rate-counts.js';

export interface HeaderChange {
  set: readonly { name: string; value: string }[];
  /** Names of headers to remove, in lower case, including the headers that are set. */
  without: ReadonlySet<string>;
}

/** A rule that may refuse a request. */
export type Guard = { pattern: PathPattern } & (
  | { type: 'maintenance'; message: string }
  | { type: 'basicAuth'; realm: string; users: readonly RuleUser[]; memory: CredentialMemory }
  | { type: 'rateLimit'; requests: number; perMs: number; counts: RateCounts }
);

type Step = Guard | { type: 'headers'; pattern: PathPattern; change: HeaderChange } | { type: 'move'; move: Move };

/** Unless it is forced, the redirect or rewrite applies only if the site has no file at the path. */
export interface SiteMove {
  status: number;
  force: boolean;
  target: Target;
}

/** The compiled rules of a service. Two sets with the same `key` are equal. */
export interface RuleSet {
  key: string;
  steps: readonly Step[];
  /** All rules that may refuse a request, including those in the files of the live site. */
  guards: readonly Guard[];
  /** The rules in the files of the live site, such as `_redirects`. */
  site: {
    moves: readonly Move[];
    headers: readonly { pattern: PathPattern; change: HeaderChange }[];
    guards: readonly Guard[];
  };
}

/** Compiles the rules of a service, whose patterns were checked when they were stored. */
export function compileRules({ rulesKey, rules, site }: Pick<RuleSource, 'rulesKey' | 'rules' | 'site'>): RuleSet {
  // Rules of type `canary` only tell deployments how to begin a canary.
  const steps = rules.filter(({ type }) => type !== 'canary').map(compileRule);
  const ofSite = (site?.auth ?? []).map(({ for: path, users }) => passwordGuard(path, { users, ignoresCase: true }));
  return {
    key: rulesKey,
    steps,
    guards: [...steps.filter((step): step is Guard => step.type !== 'headers' && step.type !== 'move'), ...ofSite],
    site: {
      moves: (site?.moves ?? []).map(compileMove),
      headers: (site?.headers ?? []).map(({ for: path, values }) => ({
        pattern: compilePattern(path, { ignoresCase: true }),
        change: changeOf(values),
      })),
      guards: ofSite,
    },
  };
}

function compileRule(rule: Rule): Step {
  const move = moveOf(rule);
  if (move !== null) return { type: 'move', move };
  const pattern = compilePattern(rule.for ?? '/*');
  switch (rule.type) {
    case 'headers':
      return { type: 'headers', pattern, change: changeOf(rule.set ?? {}, rule.remove) };
    case 'basicAuth':
      return passwordGuard(rule.for ?? '/*', rule);
    case 'rateLimit': {
      const { requests = 1, perSeconds = 1 } = rule;
      return { type: 'rateLimit', pattern, requests, perMs: perSeconds * 1_000, counts: new RateCounts() };
    }
    default:
      return { type: 'maintenance', pattern, message: rule.message ?? '' };
  }
}

function passwordGuard(
  path: string,
  { users = [], realm = '', ignoresCase = false }: { users?: RuleUser[]; realm?: string; ignoresCase?: boolean },
): Guard {
  const pattern = compilePattern(path, { ignoresCase });
  return { type: 'basicAuth', pattern, users, realm, memory: new CredentialMemory() };
}

function changeOf(values: Readonly<Record<string, string>>, removed: readonly string[] = []): HeaderChange {
  const set = Object.entries(values).map(([name, value]) => ({ name, value }));
  return { set, without: new Set([...set.map(({ name }) => name), ...removed].map((name) => name.toLowerCase())) };
}
