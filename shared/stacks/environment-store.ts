import { type Db, oneValue, rowsOf } from '../core/database/database-client.js';
import { presentRule, type Rule } from '../rules/model.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { openFrom, SEALED } from '../secrets/sealed-columns.js';
import { IS_PREVIEW } from '../services/store.js';
import { type WorkspaceConfiguration, workspaceConfiguration } from '../workspaces/model.js';
import type { EnvironmentState, GroupState, ServiceState, VariableState } from './environment-state.js';
import type { VolumeWish } from './wish.js';

const OWNER = `case when k.id is not null then
    jsonb_build_object('stackId', k.id, 'stack', k.name, 'as', r.name) end as owner`;

/**
 * SQL: true if the stack's last apply failed or was cancelled before it deployed the service `s`, and no later
 * deployment of the service is live.
 */
const UNRELEASED = `exists (
    select from stack_applies a join stack_steps p on p.apply_id = a.id left join deployments d on d.id = p.deployment_id
     where a.id = (select l.id from stack_applies l where l.stack_id = k.id and l.rollback_of is null
                    order by l.created_at desc, l.id desc limit 1)
       and a.status in ('failed', 'cancelled') and p.op = 'service.deploy' and p.name = r.name
       and (d.id is null or d.status in ('failed', 'cancelled') or d.cancel_requested_at is not null)
       and not exists (select from deployments n
                        where n.service_id = s.id and n.status = 'live' and n.created_at > a.finished_at))`;

interface ServiceStateRow extends Omit<ServiceState, 'repository' | 'rules' | 'variables' | 'volumes' | 'domains'> {
  sealedRepository: Buffer | null;
  rules: Rule[];
}

interface VariableStateRow extends Pick<VariableState, 'key' | 'scope'> {
  id: string;
  owner_id: string;
  sealed: Buffer | null;
  reference_service_id: string | null;
  reference_key: string | null;
}

/** Reads the current state of an environment, including unsealed variables. */
export async function readEnvironmentState(
  db: Db,
  keyring: Keyring,
  { workspaceId, environmentId }: { workspaceId: string; environmentId: string },
): Promise<EnvironmentState> {
  const values = { workspaceId, environmentId };
  const settings = await oneValue<Partial<WorkspaceConfiguration>>(
    db,
    'select configuration from workspaces where id = :workspaceId',
    values,
  );
  const services = await readServices(db, values);
  const groups = await rowsOf<Omit<GroupState, 'variables'>>(
    db,
    `select g.id, g.name, g.environment_id is not null as "ofEnvironment", ${OWNER}
       from environment_groups g left join stack_resources r on r.group_id = g.id left join stacks k on k.id = r.stack_id
      where g.workspace_id = :workspaceId and (g.environment_id is null or g.environment_id = :environmentId)
      order by g.created_at, g.id`,
    values,
  );
  const serviceIds = services.map(({ id }) => id);
  const variables = await readVariables(db, keyring, [...serviceIds, ...groups.map(({ id }) => id)]);
  const volumes = await readVolumes(db, serviceIds);
  const domains = await rowsOf<{ hostname: string; serviceId: string; service: string; redirectTo: string | null }>(
    db,
    `select d.hostname, d.service_id as "serviceId", s.name as service, d.redirect_to as "redirectTo"
       from domains d join services s on s.id = d.service_id
      where d.workspace_id = :workspaceId and d.released_at is null order by d.created_at, d.id`,
    values,
  );
  return {
    defaultRegion: workspaceConfiguration(settings ?? {}).defaultRegion,
    services: services.map(({ sealedRepository, rules, ...row }) => ({
      ...row,
      rules: rules.map(presentRule),
      repository: openAddress(keyring, row, sealedRepository),
      variables: variables.get(row.id) ?? [],
      volumes: volumes.get(row.id) ?? [],
      domains: domains
        .filter(({ serviceId }) => serviceId === row.id)
        .map(({ hostname, redirectTo }) => ({ name: hostname, redirectTo })),
    })),
    groups: groups.map((row) => ({ ...row, variables: variables.get(row.id) ?? [] })),
    domains: Object.fromEntries(domains.map(({ hostname, ...holder }) => [hostname, holder])),
  };
}

function readServices(db: Db, values: { workspaceId: string; environmentId: string }): Promise<ServiceStateRow[]> {
  return rowsOf<ServiceStateRow>(
    db,
    `select s.id, s.name, s.kind, s.archived, s.lifecycle_status as lifecycle, s.live_deployment_id is not null as live, ${UNRELEASED} as unreleased,
            s.configuration, s.sealed_repository as "sealedRepository", coalesce(e.rules, '[]') as rules, coalesce(v.initialized_at is not null, false) as "hasData", ${OWNER},
            array(select l.group_id from environment_group_services l where l.service_id = s.id
                   order by l.created_at, l.group_id) as "groupIds"
       from services s left join data_servers v on v.id = s.id left join service_rules e on e.service_id = s.id
       left join stack_resources r on r.service_id = s.id left join stacks k on k.id = r.stack_id
      where s.workspace_id = :workspaceId and s.environment_id = :environmentId
        and s.deleted_at is null and s.lifecycle_status <> 'deleting' and not ${IS_PREVIEW}
      order by s.created_at, s.id`,
    values,
  );
}

async function readVariables(db: Db, keyring: Keyring, ids: readonly string[]): Promise<Map<string, VariableState[]>> {
  const rows = await rowsOf<VariableStateRow>(
    db,
    `select id, coalesce(service_id, group_id) as owner_id, key, scope, sealed, reference_service_id, reference_key
       from variables where service_id = any(:ids) or group_id = any(:ids) order by created_at, id`,
    { ids },
  );
  return grouped(
    rows.map((row): [string, VariableState] => {
      const { id, owner_id, key, scope, sealed, reference_service_id: serviceId, reference_key: target } = row;
      const reference = serviceId === null || target === null ? null : { serviceId, key: target };
      const value = sealed === null ? null : opened(() => openFrom(keyring, SEALED.variable, id, sealed));
      return [owner_id, { key, scope, value, reference }];
    }),
  );
}

async function readVolumes(db: Db, ids: readonly string[]): Promise<Map<string, VolumeWish[]>> {
  const rows = await rowsOf<VolumeWish & { serviceId: string }>(
    db,
    `select service_id as "serviceId", name, mount_path as "mountPath", size_gb as "sizeGb" from volumes
      where service_id = any(:ids) and removed_at is null order by created_at, id`,
    { ids },
  );
  return grouped(rows.map(({ serviceId, ...volume }): [string, VolumeWish] => [serviceId, volume]));
}

function openAddress(
  keyring: Keyring,
  { id, configuration }: Pick<ServiceStateRow, 'id' | 'configuration'>,
  sealed: Buffer | null,
) {
  if (sealed === null) return configuration.repository;
  return opened(() => openFrom(keyring, SEALED.repository, id, sealed)) ?? configuration.repository;
}

function opened(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

function grouped<T>(entries: readonly [string, T][]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const [id, each] of entries) groups.set(id, [...(groups.get(id) ?? []), each]);
  return groups;
}
