import type { ErrorDetail } from '../core/error-registry.js';
import { OFFERED_KEYS } from '../data/model.js';
import { isDataKind, type ServiceKind } from '../services/model.js';
import type { EnvironmentState } from './environment-state.js';
import type { Matches } from './match-resources.js';
import type { ReferenceWish, VariableWish } from './wish.js';

/** `variables` contains the service's own variables and those of its groups. */
interface Provider {
  kind: ServiceKind;
  variables: Map<string, ReferenceWish | null>;
}

const OFFERED = ['HOST', 'PORT', 'URL'];

/** Returns the dangling and circular references in a document. */
export function referenceProblems(matches: Matches, state: EnvironmentState): ErrorDetail[] {
  const providers = providersOf(matches, state);
  const problems: ErrorDetail[] = [];

  function check(path: string, owner: string | null, { key, content }: VariableWish): void {
    if (!('reference' in content) || !('service' in content.reference)) return;
    const at = `${path}/variables/${key}`;
    const { service, key: target } = content.reference;
    const provider = providers.get(service);
    const problem =
      provider === undefined
        ? `refers to ${service}, which neither the document nor the environment has`
        : service === owner
          ? 'refers to its own service'
          : !offers(provider, target)
            ? `refers to ${target}, which ${service} does not have`
            : isCircle(providers, owner, key, content.reference)
              ? 'refers back to itself'
              : null;
    if (problem !== null) problems.push({ path: at, message: problem });
  }

  for (const { wish } of matches.services) for (const each of wish.variables) check(wish.path, wish.name, each);
  for (const { wish } of matches.groups) for (const each of wish.variables) check(wish.path, null, each);
  return problems;
}

function providersOf(matches: Matches, state: EnvironmentState): Map<string, Provider> {
  const providers = new Map<string, Provider>();
  const known = new Set([
    ...matches.services.map((match) => match.state?.id),
    ...matches.goneServices.map(({ id }) => id),
  ]);
  const groups = new Map(state.groups.map(({ id, variables }) => [id, variables]));
  for (const { id, name, kind, variables, groupIds } of state.services) {
    if (known.has(id)) continue;
    const all = [...groupIds.flatMap((group) => groups.get(group) ?? []), ...variables];
    providers.set(name, { kind, variables: new Map(all.map(({ key, reference }) => [key, reference])) });
  }
  const wished = new Map(matches.groups.map(({ wish }) => [wish.name, wish.variables]));
  for (const { wish } of matches.services) {
    const shared = wish.groups.flatMap(
      (name): [string, ReferenceWish | null][] =>
        wished.get(name)?.map(entryOf) ??
        state.groups.find((group) => group.name === name)?.variables.map(({ key, reference }) => [key, reference]) ??
        [],
    );
    providers.set(wish.name, { kind: wish.kind, variables: new Map([...shared, ...wish.variables.map(entryOf)]) });
  }
  return providers;
}

function entryOf({ key, content }: VariableWish): [string, ReferenceWish | null] {
  return [key, 'reference' in content ? content.reference : null];
}

function offers({ kind, variables }: Provider, key: string): boolean {
  return variables.has(key) || (isDataKind(kind) ? OFFERED_KEYS[kind] : OFFERED).includes(key);
}

/**
 * Returns true if references by service name form a circle. Circles that contain a reference by service id are found
 * later, when a deployment reads its variables.
 */
function isCircle(
  providers: ReadonlyMap<string, Provider>,
  owner: string | null,
  key: string,
  first: ReferenceWish,
): boolean {
  const seen = new Set(owner === null ? [] : [`${owner}\n${key}`]);
  for (let at: ReferenceWish | null | undefined = first; at && 'service' in at; ) {
    const step = `${at.service}\n${at.key}`;
    if (seen.has(step)) return true;
    seen.add(step);
    at = providers.get(at.service)?.variables.get(at.key);
  }
  return false;
}
