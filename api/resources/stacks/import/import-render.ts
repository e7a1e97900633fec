import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import {
  given,
  type ImportContext,
  type Loose,
  type Lost,
  looseListOf,
  looseOf,
  loseKeys,
  optional,
  textOf,
} from './loose.js';
import { RENDER_KEYS, RENDER_REASONS, serviceOf } from './render-service.js';
import { groupOf } from './render-variables.js';
import { planNamed } from './service-parts.js';

const REDIS: ReadonlySet<string> = new Set(['redis', 'keyvalue']);

/** Converts a render.yaml to a document. */
export function importRender(value: unknown, context: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  const parts = resourcesOf(file, lost);
  const services = parts.services.filter(({ type }) => !REDIS.has(textOf(type)));
  const caches = [...parts.services.filter(({ type }) => REDIS.has(textOf(type))), ...looseListOf(file.redis)];
  const named = (list: readonly Loose[], entry: (each: Loose, name: string) => Record<string, unknown>) =>
    Object.fromEntries(
      list
        .map((each, index) => [textOf(each.name) || `service-${index + 1}`, each] as const)
        .map(([name, each]): [string, Record<string, unknown>] => [name, entry(each, name)]),
    );
  return {
    ...optional(
      'services',
      named(services, (each, name) => serviceOf(name, each, context, lost)),
    ),
    ...optional('databases', {
      ...named(parts.databases, (each, name) => databaseOf(`databases.${name}`, each, lost)),
      ...named(caches, (each, name) => cacheOf(`services.${name}`, each, lost)),
    }),
    ...optional(
      'groups',
      named(parts.groups, (each, name) => groupOf(`envVarGroups.${name}`, each, lost)),
    ),
  } as StackDocument;
}

/** Returns the services, databases and groups at the top level of the file and in its first environment. */
function resourcesOf(file: Loose, lost: Lost): Record<'services' | 'databases' | 'groups', Loose[]> {
  const environments = looseListOf(file.projects).flatMap(({ environments: list }) => looseListOf(list));
  for (const { name } of environments.slice(1)) {
    lost('projects', `only the first environment is read; ${textOf(name)} is left out`);
  }
  loseKeys(
    '',
    file,
    new Set(['services', 'databases', 'redis', 'envVarGroups', 'projects', 'version']),
    {
      previews: 'previews are settings of each service',
      previewsEnabled: 'previews are settings of each service',
      previewsExpireAfterDays: 'previews are settings of each service',
    },
    lost,
  );
  const all = [file, ...environments.slice(0, 1)];
  return {
    services: all.flatMap(({ services }) => looseListOf(services)),
    databases: all.flatMap(({ databases }) => looseListOf(databases)),
    groups: all.flatMap(({ envVarGroups }) => looseListOf(envVarGroups)),
  };
}

function databaseOf(at: string, database: Loose, lost: Lost): Record<string, unknown> {
  loseKeys(at, database, RENDER_KEYS, RENDER_REASONS, lost);
  const { databaseName, user, postgresMajorVersion: version, plan } = database;
  return {
    kind: 'postgres',
    ...given({ databaseName, databaseUser: user, databaseVersion: textOf(version) }),
    ...planNamed(at, textOf(plan), lost),
  };
}

function cacheOf(at: string, cache: Loose, lost: Lost): Record<string, unknown> {
  loseKeys(at, cache, RENDER_KEYS, RENDER_REASONS, lost);
  const { maxmemoryPolicy: policy, plan } = cache;
  return {
    kind: 'redis',
    ...given({ evictionPolicy: textOf(policy).replaceAll('_', '-') }),
    ...planNamed(at, textOf(plan), lost),
  };
}
