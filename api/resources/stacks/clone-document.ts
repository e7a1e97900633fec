import { conflict } from '../../../shared/core/error-registry.js';
import type { ServiceEntry, StackDocument, VariableEntry } from '../../../shared/stacks/document-schema.js';
import type { EnvironmentState, Owner, ServiceState, VariableState } from '../../../shared/stacks/environment-state.js';
import type { Content, StackWish } from '../../../shared/stacks/wish.js';
import { pullStack } from './pull.js';

export interface ClonedDocument {
  document: StackDocument;
  /** What the clone lacks compared with the original. */
  warnings: string[];
}

/** Returns the document for a clone of an environment. Throws conflict if names are not unique. */
export function cloneDocument(state: EnvironmentState, wishes: ReadonlyMap<string, StackWish>): ClonedDocument {
  assertNamesUnique(state);
  const services = state.services.map((service) => {
    return { ...service, configuration: { ...service.configuration, repository: service.repository } };
  });
  const { document, warnings } = pullStack({ ...state, services });
  const entryOf = (entry: ServiceEntry, service: ServiceState): ServiceEntry => {
    const { domains: _domains, ...copied } = entry;
    const domains = service.domains.map(({ name }) => name);
    if (domains.length > 0) warnings.push(`${service.name}: its domains stay with the original: ${domains.join(', ')}`);
    return {
      ...copied,
      ...variablesOf(entry.variables, service, wishes, 'services'),
    };
  };
  const sectionOf = (section: Record<string, ServiceEntry> = {}) =>
    mapped(section, (entry, name) => {
      const service = state.services.find((each) => each.name === name);
      return service === undefined ? entry : entryOf(entry, service);
    });
  const groups = mapped(document.groups ?? {}, (entry, name) => {
    const group = state.groups.find((each) => each.ofEnvironment && each.name === name);
    return group === undefined ? entry : variablesOf(entry.variables, group, wishes, 'groups');
  });
  return {
    document: {
      ...(liveTogether(state, wishes) ? { release: 'together' } : {}),
      ...{ services: sectionOf(document.services), databases: sectionOf(document.databases), groups },
    },
    warnings,
  };
}

/**
 * Returns true if one stack owns all services, no service has volumes, and the services of this stack go live together.
 */
function liveTogether({ services }: EnvironmentState, wishes: ReadonlyMap<string, StackWish>): boolean {
  const owners = new Set(services.map(({ owner, volumes }) => (volumes.length > 0 ? null : owner?.stackId)));
  const [only] = owners;
  return owners.size === 1 && typeof only === 'string' && wishes.get(only)?.together === true;
}

function assertNamesUnique({ services, groups }: EnvironmentState): void {
  for (const [what, names] of [
    ['services', services.map(({ name }) => name)],
    ['groups', groups.filter(({ ofEnvironment }) => ofEnvironment).map(({ name }) => name)],
  ] as const) {
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw conflict(`Several ${what} are named "${twice}": rename all but one before cloning`);
  }
}

interface VariablesOwner {
  name: string;
  owner: Owner | null;
  variables: VariableState[];
}

/**
 * Returns the variables of a cloned service or group. In `variables`, secrets stand for the values. If the document of
 * the stack that owns the original generates a value or contains the current value, copies that document's entry in
 * place of the secret.
 */
function variablesOf(
  variables: Record<string, VariableEntry> | undefined,
  { name, owner, variables: states }: VariablesOwner,
  wishes: ReadonlyMap<string, StackWish>,
  section: 'services' | 'groups',
): { variables?: Record<string, VariableEntry> } {
  if (variables === undefined) return {};
  const wish = owner === null ? undefined : wishes.get(owner.stackId);
  const wished = wish?.[section].find((each) => each.name === (owner?.as ?? name));
  return {
    variables: mapped(variables, (entry, key) => {
      const content = wished?.variables.find((each) => each.key === key)?.content;
      const state = states.find((each) => each.key === key);
      if (typeof entry === 'string' || !('secret' in entry) || content === undefined || state === undefined)
        return entry;
      const { secret: _secret, ...scoped } = entry;
      return isOpen(content, state) ? { ...scoped, ...content } : entry;
    }),
  };
}

function isOpen(content: Content, { value }: VariableState): boolean {
  return 'generate' in content || ('value' in content && content.value === value);
}

function mapped<T, U>(map: Record<string, T>, turn: (each: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(map).map(([name, each]): [string, U] => [name, turn(each, name)]));
}
