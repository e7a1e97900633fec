import { AppError, type ErrorDetail } from '../core/error-registry.js';
import type { EnvironmentState, GroupState, Owner, ServiceState } from './environment-state.js';
import type { GroupWish, ServiceWish, StackWish } from './wish.js';

/** A service that is asked for, with the one that exists. */
export interface ServiceMatch {
  wish: ServiceWish;
  state: ServiceState | null;
}

interface GroupMatch {
  wish: GroupWish;
  state: GroupState | null;
}

/** What a document asks for beside what exists. */
export interface Matches {
  services: ServiceMatch[];
  groups: GroupMatch[];
  /** What the stack owns and the document does not name. */
  goneServices: ServiceState[];
  goneGroups: GroupState[];
  /** What the stack takes over because the document names it. */
  adopted: (ServiceState | GroupState)[];
}

interface Resource {
  id: string;
  name: string;
  owner: Owner | null;
}

/**
 * Finds, by name, the existing resources that a document asks for. A resource of the stack that a user has renamed since
 * is found by its name in the document. Adds a problem for each name that several resources have. Throws owned_elsewhere
 * if a resource belongs to another stack.
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
