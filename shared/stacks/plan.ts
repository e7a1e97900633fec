import { createHash } from 'node:crypto';
import type { ErrorDetail } from '../core/error-registry.js';
import type { RuleView } from '../rules/model.js';
import { referenceProblems } from './check-references.js';
import type { EnvironmentState, ServiceState } from './environment-state.js';
import { type Matches, matchResources, type ServiceMatch } from './match-resources.js';
import type { Step } from './model.js';
import { domainProblems, redirectSteps } from './plan-domains.js';
import { type Change, fieldChange, type Plan } from './plan-model.js';
import { changeKind, hasSource, planService, wantedConfiguration } from './plan-services.js';
import { planVariables, type ServiceNames } from './plan-variables.js';
import type { StackWish, VariableWish } from './wish.js';

/** The order of an apply's steps. Steps that free host names or storage come first. */
const PHASES: readonly Step['op'][] = [
  ...(['domain.delete', 'volume.delete', 'group.create', 'service.create', 'service.update'] as const),
  ...(['volume.create', 'volume.grow', 'variables.set', 'groups.link', 'domain.create'] as const),
  ...(['domain.redirect', 'rules.set'] as const),
  ...(['service.archive', 'service.deploy', 'service.delete', 'group.delete', 'stack.delete'] as const),
];

export interface PlanInput {
  /** Null if the stack does not exist yet. */
  stackId: string | null;
  wish: StackWish;
  state: EnvironmentState;
  /** Values of secrets, by `service.KEY`. */
  values: Readonly<Record<string, string>>;
}

export interface PlannedStack {
  plan: Plan;
  matches: Matches;
  /** Each path is a JSON pointer into the document. */
  problems: ErrorDetail[];
}

/** Compares a document with an environment and plans the changes. Throws owned_elsewhere. */
export function planStack({ stackId, wish, state, values }: PlanInput): PlannedStack {
  const problems: ErrorDetail[] = [];
  const matches = matchResources(stackId, wish, state, problems);
  problems.push(...referenceProblems(matches, state), ...domainProblems(matches, state));
  const names = serviceNames(matches, state);
  const changes: Change[] = [];
  const steps: Step[] = [];
  const secrets: string[] = [];
  const deploys = new Set<string>();
  const changedKeys = new Set<string>();

  function addVariables(name: string, owner: Parameters<typeof planVariables>[1], ...lists: VariableLists): string[] {
    const plan = planVariables(name, owner, ...lists, { names, values });
    changes.push(...plan.changes);
    secrets.push(...plan.secrets);
    if (plan.step !== null) steps.push(plan.step);
    return plan.changedKeys;
  }

  const changedGroups = new Map<string, string[]>();
  for (const { wish: group, state: existing } of matches.groups) {
    const { name } = group;
    if (existing === null) {
      changes.push({ action: 'create', kind: 'group', name, fields: [] });
      steps.push({ op: 'group.create', group: name });
    }
    changedGroups.set(name, addVariables(name, { group: name }, group.variables, existing?.variables ?? []));
  }
  for (const match of matches.services) {
    const { wish: service, state: existing } = match;
    const { name } = service;
    const own = planService(match, state, problems);
    const links = planLinks(match, matches, state, problems);
    changes.push(...own.changes, ...links.changes);
    steps.push(...own.steps, ...links.steps);
    const keys = addVariables(name, { service: name }, service.variables, existing?.variables ?? []);
    for (const group of service.groups) keys.push(...(changedGroups.get(group) ?? []));
    if (own.changed.includes('port')) keys.push('PORT', 'URL');
    for (const key of keys) changedKeys.add(`${name}\n${key}`);
    if (own.deploys || links.steps.length > 0 || keys.length > 0) deploys.add(name);
    if (existing?.unreleased) deploys.add(name);
  }
  steps.push(...redirectSteps(matches.services));
  addReferring(matches, changedKeys, deploys);
  for (const { id, name, kind } of matches.goneServices) {
    changes.push({ action: 'delete', kind: changeKind(kind), name, fields: [] });
    steps.push({ op: 'service.delete', serviceId: id, name });
  }
  for (const { id, name } of matches.goneGroups) {
    changes.push({ action: 'delete', kind: 'group', name, fields: [] });
    steps.push({ op: 'group.delete', groupId: id, name });
  }

  const warnings = [...adoptionWarnings(matches), ...volumeWarnings(matches, changes), ...unreleasedWarnings(matches)];
  warnings.push(...passwordWarnings(matches));
  const deployed = matches.services.filter(({ wish: { name } }) => deploys.has(name));
  const ready = deployed.filter((match) => {
    const reason = reasonAgainstDeployment(match, state);
    if (reason !== null) warnings.push(`${match.wish.name} is not deployed: ${reason}`);
    return reason === null;
  });
  const deployNames = ready.map((match) => match.wish.name);
  steps.push(...deployNames.map((service): Step => ({ op: 'service.deploy', service })));
  const destructive = changes.some(({ action }) => action === 'delete' || action === 'replace');
  // The user approved a plan without the values of secrets, so the hash must not depend on them.
  const hash =
    Object.keys(values).length === 0
      ? hashOf({ wish, changes, deploys: deployNames })
      : planStack({ stackId, wish, state, values: {} }).plan.hash;
  const plan = {
    hash,
    destructive,
    changes,
    deploys: deployNames,
    together: wish.together,
    secrets,
    warnings,
    steps: inOrder(steps),
  };
  return { plan, matches, problems };
}

export function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((one, other) => PHASES.indexOf(one.op) - PHASES.indexOf(other.op));
}

type VariableLists = [wishes: readonly VariableWish[], states: ServiceState['variables']];

function hashOf(seen: unknown): string {
  return createHash('sha256').update(JSON.stringify(seen)).digest('hex');
}

function serviceNames(matches: Matches, state: EnvironmentState): ServiceNames {
  const wished = new Map(matches.services.map((match) => [match.wish.name, match]));
  const byName = new Map(state.services.map(({ name, id }) => [name, id]));
  const byId = new Map([
    ...state.services.map(({ id, name }): [string, string] => [id, name]),
    ...matches.services.flatMap((match): [string, string][] =>
      match.state === null ? [] : [[match.state.id, match.wish.name]],
    ),
  ]);
  return {
    idOf: (name) => {
      const match = wished.get(name);
      return match === undefined ? byName.get(name) : (match.state?.id ?? null);
    },
    nameOf: (id) => byId.get(id) ?? id,
    isOwn: (name) => wished.has(name),
  };
}

interface LinkedGroup {
  /** Null if the apply creates the group. */
  id: string | null;
  step: { group: string } | { groupId: string };
}

function planLinks(
  { wish, state: service }: ServiceMatch,
  matches: Matches,
  state: EnvironmentState,
  problems: ErrorDetail[],
): { changes: Change[]; steps: Step[] } {
  const own = new Map(matches.groups.map((match) => [match.wish.name, match]));
  const nameOf = (id: string) =>
    matches.groups.find((match) => match.state?.id === id)?.wish.name ??
    state.groups.find((group) => group.id === id)?.name ??
    id;
  const wanted = wish.groups.flatMap((name, index): LinkedGroup[] => {
    const match = own.get(name);
    if (match !== undefined) return [{ id: match.state?.id ?? null, step: { group: name } }];
    const [found, ...more] = state.groups.filter((group) => group.name === name);
    if (found !== undefined && more.length === 0) return [{ id: found.id, step: { groupId: found.id } }];
    const message = found === undefined ? 'is no group of the document or the workspace' : 'names several groups';
    problems.push({ path: `${wish.path}/groups/${index}`, message: `${message}: ${name}` });
    return [];
  });
  const before = service?.groupIds ?? [];
  const isEqual = before.length === wanted.length && wanted.every(({ id }, index) => id === before[index]);
  if (isEqual) return { changes: [], steps: [] };
  const fields = fieldChange('/groups', before.map(nameOf), wish.groups);
  // A group of the environment and one of the whole workspace can have the same name. If only the ids differ, the plan
  // shows the ids.
  if (fields.length === 0) fields.push({ path: '/groups', from: before, to: wanted.map(({ id }) => id) });
  return {
    changes: service === null ? [] : [{ action: 'update', kind: changeKind(wish.kind), name: wish.name, fields }],
    steps: [{ op: 'groups.link', service: wish.name, groups: wanted.map(({ step }) => step) }],
  };
}

function passwordWarnings({ services }: Matches): string[] {
  return services.flatMap(({ wish: { name, rules }, state }) => {
    const known = new Set(usersOf(state?.rules ?? []));
    const without = [...new Set(usersOf(rules))].filter((user) => !known.has(user));
    const what = `${name}: nobody gets in as ${without.join(', ')} until the rules are set once with a password`;
    return without.length === 0 ? [] : [what];
  });
}

function usersOf(rules: readonly RuleView[]): string[] {
  return rules.flatMap(({ users = [] }) => users.map(({ name }) => name));
}

function addReferring({ services }: Matches, changedKeys: Set<string>, deploys: Set<string>): void {
  for (let grew = true; grew; ) {
    grew = false;
    for (const { wish } of services) {
      for (const { key, scope, content } of wish.variables) {
        if (scope === 'preview' || !('reference' in content) || !('service' in content.reference)) continue;
        const own = `${wish.name}\n${key}`;
        const { service, key: target } = content.reference;
        if (changedKeys.has(own) || !changedKeys.has(`${service}\n${target}`)) continue;
        changedKeys.add(own);
        deploys.add(wish.name);
        grew = true;
      }
    }
  }
}

function adoptionWarnings({ adopted }: Matches): string[] {
  return adopted.map(({ name }) => `${name} was not made by a stack; from now on it belongs to this one`);
}

function unreleasedWarnings({ services }: Matches): string[] {
  return services
    .filter(({ state }) => state?.unreleased === true)
    .map(({ wish }) => `${wish.name} is deployed because the last apply ended before it was live`);
}

function volumeWarnings({ services }: Matches, changes: readonly Change[]): string[] {
  const running = services.filter(({ state }) => state?.live === true && state.lifecycle !== 'suspended');
  return changes
    .filter(({ kind, action }) => kind === 'volume' && (action === 'delete' || action === 'replace'))
    .filter(({ name }) => running.some(({ wish }) => name.startsWith(`${wish.name}.`)))
    .map(({ name }) => `${name} is deleted with all its files: suspend its service before the apply`);
}

function reasonAgainstDeployment({ wish, state: service }: ServiceMatch, state: EnvironmentState): string | null {
  if (wish.archived) return 'it is archived';
  if (service?.lifecycle === 'suspended') return 'it is suspended; deploy it to resume it with the change';
  if (hasSource(wish.kind, wantedConfiguration(wish, state), service?.live ?? false)) return null;
  return 'it has no source yet';
}
