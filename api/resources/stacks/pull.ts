import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import { isDataKind } from '../../../shared/services/model.js';
import { isMasked } from '../../../shared/services/service-source.js';
import type {
  DomainEntry,
  ServiceEntry,
  StackDocument,
  VariableEntry,
} from '../../../shared/stacks/document-schema.js';
import type { EnvironmentState, ServiceState, VariableState } from '../../../shared/stacks/environment-state.js';

export interface PulledStack {
  document: StackDocument;
  /** What the document cannot express. */
  warnings: string[];
}

/**
 * Converts an environment to a document without values of variables. Applying the document to this environment changes
 * nothing.
 */
export function pullStack(state: EnvironmentState): PulledStack {
  const warnings: string[] = [];
  const services = namedOnce(state.services, 'services', warnings);
  const groups = namedOnce(
    state.groups.filter(({ ofEnvironment }) => ofEnvironment),
    'groups',
    warnings,
  );
  const serviceNames = new Map(services.map(({ id, name }) => [id, name]));
  const variables = (owner: string, states: readonly VariableState[]) =>
    byKey(states.map((variable) => [variable.key, variableEntry(owner, variable, serviceNames, warnings)]));
  const entry = (service: ServiceState): ServiceEntry => {
    const { kind, archived, volumes, domains, rules } = service;
    const names = groupNames(service, state, warnings);
    if (isMasked(service.configuration.repository)) {
      warnings.push(`${service.name}: the secret part of the repository's address is not written`);
    }
    return {
      kind,
      ...(archived ? { archived } : {}),
      ...configurationOf(service, state),
      ...optional('variables', variables(service.name, service.variables)),
      ...optional('volumes', byKey(volumes.map(({ name, ...fields }) => [name, fields]))),
      ...(domains.length === 0 ? {} : { domains: domains.map(domainEntry) }),
      ...(rules.length === 0 ? {} : { rules }),
      ...(names.length === 0 ? {} : { groups: names }),
    };
  };
  const isData = ({ kind }: ServiceState) => isDataKind(kind);
  return {
    document: {
      ...optional('services', byKey(services.filter((each) => !isData(each)).map((each) => [each.name, entry(each)]))),
      ...optional('databases', byKey(services.filter(isData).map((each) => [each.name, entry(each)]))),
      ...optional(
        'groups',
        byKey(
          groups.map(({ name, variables: states }) => [name, { ...optional('variables', variables(name, states)) }]),
        ),
      ),
    },
    warnings,
  };
}

function domainEntry({ name, redirectTo }: ServiceState['domains'][number]): DomainEntry {
  return redirectTo === null ? name : { name, redirectTo };
}

/** Omits resources whose names are not unique, because a document cannot distinguish them. */
function namedOnce<T extends { name: string }>(resources: readonly T[], what: string, warnings: string[]): T[] {
  const counts = new Map<string, number>();
  for (const { name } of resources) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [name, count] of counts) {
    if (count > 1)
      warnings.push(`${count} ${what} are named ${name}: rename all but one, so that a document can name them`);
  }
  return resources.filter(({ name }) => counts.get(name) === 1);
}

function configurationOf({ configuration }: ServiceState, { defaultRegion }: EnvironmentState): object {
  const defaults = { ...DEFAULT_CONFIGURATION, region: defaultRegion };
  return Object.fromEntries(
    Object.entries(configuration).filter(
      ([field, value]) => JSON.stringify(value) !== JSON.stringify(defaults[field as keyof typeof defaults]),
    ),
  );
}

function variableEntry(
  owner: string,
  { key, scope, value, reference }: VariableState,
  names: ReadonlyMap<string, string>,
  warnings: string[],
): VariableEntry {
  const scoped = scope === 'all' ? {} : { scope };
  if (reference === null) {
    if (value === null) warnings.push(`${owner}.${key}: the value cannot be opened; give it again`);
    return { secret: true, ...scoped };
  }
  const service = names.get(reference.serviceId);
  const target = service === undefined ? { serviceId: reference.serviceId } : { service };
  return { reference: { ...target, key: reference.key }, ...scoped };
}

function groupNames({ name, groupIds }: ServiceState, { groups }: EnvironmentState, warnings: string[]): string[] {
  return groupIds.flatMap((id) => {
    const group = groups.find((each) => each.id === id);
    if (group === undefined) return [];
    if (groups.filter((each) => each.name === group.name).length === 1) return [group.name];
    warnings.push(`${name}: several groups are named ${group.name}, so its link to one of them is not written`);
    return [];
  });
}

function byKey<T>(entries: readonly [string, T][]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function optional<Name extends string, T extends object>(name: Name, value: T): { [N in Name]?: T } {
  return Object.keys(value).length === 0 ? {} : ({ [name]: value } as { [N in Name]?: T });
}
