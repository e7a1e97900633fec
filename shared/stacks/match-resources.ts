import { AppError, type ErrorDetail } from '../core/error-registry.js';
import type { EnvironmentState, GroupState, Owner, ServiceState } from './environment-state.js';
import type { GroupWish, ServiceWish, StackWish } from './wish.js';

export interface ServiceMatch {
  wish: ServiceWish;
  state: ServiceState | null;
}

interface GroupMatch {
  wish: GroupWish;
  state: GroupState | null;
}

export interface Matches {
  services: ServiceMatch[];
  groups: GroupMatch[];
  /** Resources that the document omits. */
  goneServices: ServiceState[];
  goneGroups: GroupState[];
  /** Existing resources that the stack now owns, because the document contains them. */
  adopted: (ServiceState | GroupState)[];
}

interface Resource {
  id: string;
  name: string;
  owner: Owner | null;
}

/**
 * Matches the resources of a document with existing ones by name. A resource that a user has renamed is found by its
 * earlier name in the document. Adds a problem for each ambiguous name. Throws owned_elsewhere if another stack owns a
 * resource.
 */
export function matchResources(
  stackId: string | null,
  wish: StackWish,
  state: EnvironmentState,
  problems: ErrorDetail[],
): Matches {
  const groups = state.groups.filter(({ ofEnvironment }) => ofEnvironment);
  const services = wish.services.map((each) => ({
    wish: each,
    state: find(stackId, each, wish.services, state.services, { what: 'service', problems }),
  }));
  const matchedGroups = wish.groups.map((each) => ({
    wish: each,
    state: find(stackId, each, wish.groups, groups, { what: 'group', problems }),
  }));
  const matched = [...services, ...matchedGroups].flatMap((match) => (match.state === null ? [] : [match.state]));
  const kept = new Set(matched.map(({ id }) => id));
  const isGone = ({ id, owner }: Resource) => stackId !== null && owner?.stackId === stackId && !kept.has(id);
  return {
    services,
    groups: matchedGroups,
    goneServices: state.services.filter(isGone),
    goneGroups: groups.filter(isGone),
    adopted: matched.filter(({ owner }) => owner === null),
  };
}

function find<T extends Resource>(
  stackId: string | null,
  { name, path }: { name: string; path: string },
  wishes: readonly { name: string }[],
  resources: readonly T[],
  { what, problems }: { what: string; problems: ErrorDetail[] },
): T | null {
  const isOwn = ({ owner }: T) => stackId !== null && owner?.stackId === stackId;
  const named = resources.filter((resource) => resource.name === name);
  const own = named.filter(isOwn);
  const [found, ...more] = own.length > 0 ? own : named;
  if (more.length > 0) {
    problems.push({ path, message: `names ${more.length + 1} of the environment: rename all but one first` });
  }
  if (found !== undefined) {
    if (found.owner !== null && !isOwn(found)) {
      throw new AppError('owned_elsewhere', `The ${what} "${name}" belongs to the stack "${found.owner.stack}"`);
    }
    return found;
  }
  const renamed = resources.find(
    (resource) => isOwn(resource) && resource.owner?.as === name && !wishes.some((wish) => wish.name === resource.name),
  );
  return renamed ?? null;
}
