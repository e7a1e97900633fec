import { isDeepStrictEqual } from 'node:util';
import type { ErrorDetail } from '../core/error-registry.js';
import {
  DEFAULT_CONFIGURATION,
  type PartialServiceConfiguration,
  type ServiceConfiguration,
} from '../services/configuration.js';
import { isDataKind, type ServiceKind } from '../services/model.js';
import { addressProblem, isImageSource, isMasked, isPushSource, maskedRepository } from '../services/service-source.js';
import type { EnvironmentState, ServiceState } from './environment-state.js';
import type { ServiceMatch } from './match-resources.js';
import type { Step } from './model.js';
import { planDomains } from './plan-domains.js';
import { type Change, type FieldChange, fieldChange } from './plan-model.js';
import type { ServiceWish } from './wish.js';

/** Fields whose change takes effect without a deployment, or only matters to the next push, run or preview. */
const WITHOUT_DEPLOYMENT: ReadonlySet<string> = new Set<keyof ServiceConfiguration>([
  ...(['autoDeploy', 'backupEnabled', 'backupRetentionDays', 'description', 'ignorePaths', 'includePaths'] as const),
  ...(['ipAllowList', 'maintenance', 'maintenancePage', 'maxConcurrency', 'maxReplicas', 'maxRetries'] as const),
  ...(['minReplicas', 'notifications', 'platformDomainEnabled', 'previewDatabases', 'previewExpiryHours'] as const),
  ...([
    'previewMode',
    'replicas',
    'scaling',
    'schedule',
    'targetCpu',
    'targetMemory',
    'timeoutSeconds',
    'timezone',
  ] as const),
]);

const FIXED = ['databaseName', 'databaseUser', 'databaseVersion'] as const;

export interface ServicePlan {
  changes: Change[];
  steps: Step[];
  changed: string[];
  deploys: boolean;
}

export function changeKind(kind: ServiceKind): 'service' | 'database' {
  return isDataKind(kind) ? 'database' : 'service';
}

/** Returns a document's configuration of a service, with defaults for the fields it omits. */
export function wantedConfiguration(
  { configuration }: ServiceWish,
  { defaultRegion }: Pick<EnvironmentState, 'defaultRegion'>,
): ServiceConfiguration {
  return { ...DEFAULT_CONFIGURATION, region: defaultRegion, ...configuration };
}

/**
 * Returns the steps that create or change a service, except its variables and groups. Adds an entry to `problems` for
 * each change that is not possible.
 */
export function planService(
  { wish, state }: ServiceMatch,
  environment: EnvironmentState,
  problems: ErrorDetail[],
): ServicePlan {
  const wanted = wantedConfiguration(wish, environment);
  problems.push(...fixedProblems(wish, state, wanted));
  const plan = state === null ? planNew(wish) : planExisting(wish, state, wanted);
  const volumes = planVolumes(wish, state);
  const domains = planDomains(wish, state);
  const rules = planRules(wish, state);
  return {
    ...plan,
    changes: [...plan.changes, ...volumes.changes, ...domains.changes, ...rules.changes],
    steps: [...plan.steps, ...volumes.steps, ...domains.steps, ...rules.steps],
    deploys: plan.deploys || volumes.steps.some(({ op }) => op !== 'volume.grow'),
  };
}

/** Returns true if a deployment with this configuration has something to build or run. */
export function hasSource(kind: ServiceKind, configuration: ServiceConfiguration, live: boolean): boolean {
  if (isDataKind(kind)) return true;
  if (isImageSource(configuration)) return configuration.image !== '';
  return isPushSource(configuration) ? live : configuration.repository !== '';
}

function fixedProblems(wish: ServiceWish, state: ServiceState | null, wanted: ServiceConfiguration): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const { repository = '' } = wish.configuration;
  if (repository !== '' && (state === null || !isStored(repository, state))) {
    const problem = isMasked(repository) ? 'has asterisks in the place of its secret part' : addressProblem(repository);
    if (problem !== null) problems.push({ path: `${wish.path}/repository`, message: problem });
  }
  if (state === null) return problems;
  if (state.kind !== wish.kind) {
    const message = `cannot change: ${wish.name} is of kind ${state.kind}; give the new service another name`;
    problems.push({ path: `${wish.path}/kind`, message });
  }
  for (const field of state.hasData ? FIXED : []) {
    if (wanted[field] === state.configuration[field]) continue;
    const message = 'cannot change once there is data: make a new database and copy the data into it';
    problems.push({ path: `${wish.path}/${field}`, message });
  }
  return problems;
}

function isStored(address: string, state: ServiceState): boolean {
  return address === state.configuration.repository || address === state.repository;
}

function planNew(wish: ServiceWish): ServicePlan {
  const { name, kind, configuration, archived } = wish;
  const fields = Object.entries(configuration).flatMap(([field, value]) =>
    fieldChange(`/${field}`, null, shown(field, value)),
  );
  return {
    changes: [
      {
        action: 'create',
        kind: changeKind(kind),
        name,
        fields: [{ path: '/kind', from: null, to: kind }, ...fields, ...(archived ? [archival(false, true)] : [])],
      },
    ],
    steps: [
      { op: 'service.create', service: name, kind, configuration },
      ...(archived ? [{ op: 'service.archive', service: name, archived } as const] : []),
    ],
    changed: [],
    deploys: true,
  };
}

function planExisting(wish: ServiceWish, state: ServiceState, wanted: ServiceConfiguration): ServicePlan {
  const { name, archived } = wish;
  const fields: FieldChange[] = fieldChange('/name', state.name, name);
  const configuration: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(wanted)) {
    const before = state.configuration[field as keyof ServiceConfiguration];
    if (field === 'repository' && isStored(String(value), state)) continue;
    const changes = fieldChange(`/${field}`, shown(field, before), shown(field, value));
    // `changes` masks the secret parts of a repository address, so it is empty if only these parts differ. The step
    // must still set the new address.
    if (changes.length === 0 && (field !== 'repository' || value === before)) continue;
    fields.push(...(changes.length > 0 ? changes : [{ path: `/${field}`, from: before, to: shown(field, value) }]));
    configuration[field] = value;
  }
  const isUpdated = fields.length > 0;
  if (archived !== state.archived) fields.push(archival(state.archived, archived));
  const update: Step[] = isUpdated
    ? [
        {
          op: 'service.update',
          service: name,
          ...(state.name === name ? {} : { name }),
          configuration: configuration as PartialServiceConfiguration,
        },
      ]
    : [];
  const archive: Step[] = archived === state.archived ? [] : [{ op: 'service.archive', service: name, archived }];
  const changed = Object.keys(configuration);
  return {
    changes: fields.length === 0 ? [] : [{ action: 'update', kind: changeKind(state.kind), name, fields }],
    steps: [...update, ...archive],
    changed,
    deploys: changed.some((field) => !WITHOUT_DEPLOYMENT.has(field)),
  };
}

function archival(from: boolean, to: boolean): FieldChange {
  return { path: '/archived', from, to };
}

function shown(field: string, value: unknown): unknown {
  return field === 'repository' ? maskedRepository(String(value)) : value;
}

type PartPlan = Pick<ServicePlan, 'changes' | 'steps'>;

function planVolumes({ name: service, volumes }: ServiceWish, state: ServiceState | null): PartPlan {
  const existing = new Map((state?.volumes ?? []).map((volume) => [volume.name, volume]));
  const changes: Change[] = [];
  const steps: Step[] = [];
  for (const { name: volume, mountPath, sizeGb } of volumes) {
    const before = existing.get(volume);
    existing.delete(volume);
    const fields = [
      ...fieldChange('/mountPath', before?.mountPath ?? null, mountPath),
      ...fieldChange('/sizeGb', before?.sizeGb ?? null, sizeGb),
    ];
    if (fields.length === 0) continue;
    const grows = before !== undefined && before.mountPath === mountPath && before.sizeGb < sizeGb;
    const action = before === undefined ? 'create' : grows ? 'update' : 'replace';
    changes.push({ action, kind: 'volume', name: `${service}.${volume}`, fields });
    if (action === 'replace') steps.push({ op: 'volume.delete', service, volume });
    if (action === 'update') steps.push({ op: 'volume.grow', service, volume, sizeGb });
    else steps.push({ op: 'volume.create', service, volume, mountPath, sizeGb });
  }
  for (const volume of existing.keys()) {
    changes.push({ action: 'delete', kind: 'volume', name: `${service}.${volume}`, fields: [] });
    steps.push({ op: 'volume.delete', service, volume });
  }
  return { changes, steps };
}

/** The order of rules matters, so they are only replaced together. */
function planRules({ name, rules }: ServiceWish, state: ServiceState | null): PartPlan {
  const before = state?.rules ?? [];
  if (isDeepStrictEqual(before, rules)) return { changes: [], steps: [] };
  const action = before.length === 0 ? 'create' : rules.length === 0 ? 'delete' : 'update';
  const fields = [{ path: '/rules', from: before, to: rules }];
  return { changes: [{ action, kind: 'rules', name, fields }], steps: [{ op: 'rules.set', service: name, rules }] };
}
