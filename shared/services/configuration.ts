import { type Static, type TSchema, Type } from 'typebox';
import { MAX_SCHEDULE_LENGTH } from '../core/cron-expression.js';
import type { ErrorDetail } from '../core/error-registry.js';
import { CONTROL, plainLine, plainText } from '../core/plain-text.js';
import { MAX_IP_RANGE_LENGTH, MAX_TIME_ZONE_LENGTH } from '../core/string-formats.js';
import { nameProblem } from './database-name.js';
import { FIELD_DESCRIPTIONS } from './field-descriptions.js';
import { isDataKind, type ServiceKind } from './model.js';
import { DATABASE_PLANS, PLAN_IDS, PLANS, REGION_IDS, RUNTIMES } from './plan-catalog.js';

/** Returns an `enum` schema for a string. `name` is its component's name in the OpenAPI document. */
export function oneOf<const T extends readonly string[]>(name: string, values: T, fallback?: T[number]) {
  return Type.Unsafe<T[number]>({
    type: 'string',
    title: name,
    enum: [...values],
    ...(fallback === undefined ? {} : { default: fallback }),
  });
}

const line = (maxLength: number) => plainLine(maxLength, { default: '' });
const text = (maxLength: number) => plainText(maxLength, { default: '' });

const integer = (minimum: number, maximum: number, fallback: number) =>
  Type.Integer({ minimum, maximum, default: fallback });

const flag = (fallback: boolean) => Type.Boolean({ default: fallback });

/** A path component other than `..`. Avoids look-ahead, which RE2 does not support. */
const PATH_PART = `(?:\\.?[^./\\\\${CONTROL}][^/\\\\${CONTROL}]*|\\.\\.[^/\\\\${CONTROL}]+|\\.)`;
const relativePath = (fallback: string) =>
  Type.String({
    maxLength: 512,
    pattern: `^(?:${PATH_PART}(?:/${PATH_PART}?)*)?$`,
    description: 'a path inside the repository: no / at its start, no .. and no backslash',
    default: fallback,
  });

const patterns = () =>
  Type.Array(
    plainLine(512, { minLength: 1, description: 'a pattern of paths in one line without control characters' }),
    {
      maxItems: 100,
      default: [],
    },
  );

const databaseIdentifier = () =>
  Type.String({
    maxLength: 63,
    pattern: '^([A-Za-z_][A-Za-z0-9_]*)?$',
    description: 'empty, or letters, digits and _ without a digit at its start',
    default: '',
  });

export const DATABASE_VERSIONS = ['13', '14', '15', '16', '17', '18'] as const;

/** A service's configuration (specification, Service). */
const FIELDS = describeFields(FIELD_DESCRIPTIONS, {
  autoDeploy: oneOf('AutoDeploy', ['off', 'commit'], 'off'),
  backupEnabled: flag(true),
  backupRetentionDays: integer(1, 365, 7),
  branch: Type.String({
    minLength: 1,
    maxLength: 255,
    format: 'branch',
    default: 'main',
  }),
  buildCommand: text(4096),
  buildMethod: oneOf('BuildMethod', ['railpack', 'dockerfile', 'static', 'image'], 'railpack'),
  cacheProfile: oneOf('CacheProfile', ['none', 'static', 'all'], 'none'),
  databaseName: databaseIdentifier(),
  databaseUser: databaseIdentifier(),
  databaseVersion: oneOf('DatabaseVersion', [...DATABASE_VERSIONS], '16'),
  description: text(2000),
  dockerContext: relativePath('.'),
  dockerfilePath: relativePath('Dockerfile'),
  dockerfileTarget: Type.String({
    maxLength: 128,
    pattern: '^([A-Za-z0-9][A-Za-z0-9_.-]*)?$',
    description: 'empty, or the name of a stage: letters, digits, _, . and -',
    default: '',
  }),
  dockerfileText: text(4096),
  evictionPolicy: oneOf(
    'EvictionPolicy',
    [
      'noeviction',
      'allkeys-lru',
      'allkeys-lfu',
      'allkeys-random',
      'volatile-lru',
      'volatile-lfu',
      'volatile-random',
      'volatile-ttl',
    ],
    'allkeys-lru',
  ),
  healthCheckPath: Type.String({
    maxLength: 2048,
    pattern: '^(/[!-~]*)?$',
    description: 'empty, or a path such as /health, in ASCII without spaces',
    default: '',
  }),
  ignorePaths: patterns(),
  image: line(512),
  includePaths: patterns(),
  ipAllowList: Type.Array(Type.String({ format: 'ip-range', maxLength: MAX_IP_RANGE_LENGTH }), {
    maxItems: 200,
    default: [],
  }),
  maintenance: flag(false),
  maintenancePage: Type.String({ maxLength: 65_536, default: '' }),
  maxConcurrency: integer(1, 100, 1),
  maxReplicas: integer(1, 100, 3),
  maxRetries: integer(0, 100, 3),
  minReplicas: integer(0, 100, 1),
  notifications: oneOf('ServiceNotifications', ['workspace', 'all', 'failure', 'none'], 'workspace'),
  plan: oneOf('PlanId', PLAN_IDS, 'free'),
  platformDomainEnabled: flag(true),
  port: integer(1, 65_535, 8000),
  preDeployCommand: text(4096),
  previewDatabases: oneOf('PreviewDatabases', ['shared', 'own', 'none'], 'shared'),
  previewExpiryHours: integer(1, 8760, 72),
  previewMode: oneOf('PreviewMode', ['off', 'manual', 'automatic'], 'off'),
  privateNetworking: flag(true),
  publishDirectory: relativePath('dist'),
  region: oneOf('RegionId', REGION_IDS, 'auto'),
  registryId: line(64),
  replicas: integer(1, 100, 1),
  repository: line(2048),
  rootDirectory: relativePath(''),
  runtime: oneOf('Runtime', RUNTIMES, 'auto'),
  scaling: oneOf('Scaling', ['manual', 'auto'], 'manual'),
  schedule: Type.String({ maxLength: MAX_SCHEDULE_LENGTH, format: 'cron', default: '0 * * * *' }),
  sourceType: oneOf('SourceType', ['repository', 'image', 'push'], 'repository'),
  startArguments: Type.Array(text(4096), { maxItems: 100, default: [] }),
  startCommand: text(4096),
  targetCpu: integer(1, 100, 70),
  targetMemory: integer(1, 100, 80),
  timeoutSeconds: integer(1, 86_400, 3600),
  timezone: Type.String({ maxLength: MAX_TIME_ZONE_LENGTH, format: 'time-zone', default: 'UTC' }),
});

export const ServiceConfigurationSchema = Type.Object(FIELDS, {
  $id: 'ServiceConfiguration',
  additionalProperties: false,
});

export type ServiceConfiguration = Static<typeof ServiceConfigurationSchema>;

export const PartialServiceConfigurationSchema = Type.Partial(
  Type.Object(withoutDefaults(FIELDS), { additionalProperties: false }),
  { $id: 'PartialServiceConfiguration', additionalProperties: false },
);

export type PartialServiceConfiguration = Partial<ServiceConfiguration>;

/**
 * Adds a sentence to each field's description, for the OpenAPI document. An existing description comes first, because
 * error messages use the first sentence.
 */
export function describeFields<T extends Record<string, TSchema & { description?: unknown }>>(
  sentences: Readonly<Record<keyof T, string>>,
  fields: T,
): T {
  for (const [name, field] of Object.entries(fields)) {
    field.description = [field.description, sentences[name]].filter((text) => text !== undefined).join('. ');
  }
  return fields;
}

/** Removes the defaults, which apply only at creation. A PATCH must not reset a field that it omits. */
export function withoutDefaults<T extends Record<string, TSchema & { default?: unknown }>>(fields: T): T {
  const copy = structuredClone(fields);
  for (const field of Object.values(copy)) delete field.default;
  return copy;
}

/** Returns the default of each field for a new record; undefined for a field without one. */
export function defaultsOf<T>(fields: Record<string, TSchema & { default?: unknown }>): Readonly<T> {
  return Object.freeze(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.default])) as T);
}

export const DEFAULT_CONFIGURATION = defaultsOf<ServiceConfiguration>(FIELDS);

/** A change of one of these fields queues a routing operation (specification, Service lifecycle). */
const ROUTING_FIELDS = [
  'ipAllowList',
  'maintenance',
  'maintenancePage',
  'platformDomainEnabled',
  'replicas',
  'scaling',
] as const satisfies readonly (keyof ServiceConfiguration)[];

/** Returns the names of the fields in `ROUTING_FIELDS` that differ between two configurations. */
export function changedRoutingFields(before: ServiceConfiguration, after: ServiceConfiguration): string[] {
  return ROUTING_FIELDS.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

/** Returns contradictions between a configuration's fields. Schemas of single fields cannot detect them. */
export function configurationProblems(kind: ServiceKind, configuration: ServiceConfiguration): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const plans: readonly { id: string }[] = isDataKind(kind) ? DATABASE_PLANS : PLANS;
  if (!plans.some((plan) => plan.id === configuration.plan)) {
    problems.push({ path: '/configuration/plan', message: `is not a plan for services of kind ${kind}` });
  }
  if (configuration.minReplicas > configuration.maxReplicas) {
    problems.push({ path: '/configuration/minReplicas', message: 'must not exceed maxReplicas' });
  }
  if (configuration.minReplicas === 0 && kind !== 'web') {
    problems.push({ path: '/configuration/minReplicas', message: 'must be at least 1: only web services sleep' });
  }
  if (kind === 'postgres') {
    for (const name of ['databaseName', 'databaseUser'] as const) {
      const problem = nameProblem(configuration[name]);
      if (problem !== null) problems.push({ path: `/configuration/${name}`, message: problem });
    }
  }
  return problems;
}
