import { anyRow, type Db, oneValue, rowsOf, type Transaction, valuesOf } from '../core/database/database-client.js';
import type { DataKind } from '../services/model.js';
import { ONLINE_SECONDS } from '../workers/store.js';
import type { StorageState } from './model.js';

export interface DataServerRow {
  id: string;
  kind: DataKind;
  version: string;
  database_name: string;
  user_name: string;
  sealed_password: Buffer | null;
  sealed_admin_password: Buffer | null;
  host_id: string | null;
  initialized_at: Date | null;
  node_id: string | null;
  node_name: string | null;
  node_image: string | null;
  reach_host: string | null;
  reach_port: number | null;
  host_port: number | null;
  used_bytes: number;
  measured_at: Date | null;
  storage_state: StorageState;
  hold_token: string | null;
  held_until: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** Returns the database server of a service; undefined before the first deployment. */
export function findDataServer(db: Db, serviceId: string): Promise<DataServerRow | undefined> {
  return db<DataServerRow>('data_servers').where({ id: serviceId }).first();
}

/** Returns the database servers whose volumes are on a host. */
export function dataServersOfHost(db: Db, hostId: string): Promise<DataServerRow[]> {
  return db<DataServerRow>('data_servers').where({ host_id: hostId });
}

export type NewDataServer = Pick<
  DataServerRow,
  'id' | 'kind' | 'version' | 'database_name' | 'user_name' | 'sealed_password' | 'sealed_admin_password'
>;

/**
 * Stores a database server. If it is already stored, only its names and its version are replaced, and only while the
 * server has no data. The existing passwords are kept.
 */
export async function upsertDataServer(trx: Transaction, row: NewDataServer): Promise<void> {
  await trx.raw(
    `insert into data_servers (id, kind, version, database_name, user_name, sealed_password, sealed_admin_password)
     values (:id, :kind, :version, :database_name, :user_name, :sealed_password, :sealed_admin_password)
     on conflict (id) do update
       set version = excluded.version, database_name = excluded.database_name, user_name = excluded.user_name, updated_at = now()
     where data_servers.initialized_at is null`,
    { ...row },
  );
}

/** Returns the host that has the database's volume. Assigns the volume to `hostId` if the volume has no data yet. */
export async function settleHost(db: Db, serviceId: string, hostId: string): Promise<string> {
  const settled = await oneValue<string>(
    db,
    `update data_servers
        set host_id = case when initialized_at is null then :hostId else coalesce(host_id, :hostId) end,
            host_port = case when initialized_at is null and host_id is distinct from :hostId then null else host_port end
      where id = :serviceId returning host_id`,
    { serviceId, hostId },
  );
  if (settled === null) throw new Error(`service ${serviceId} has no data server`);
  return settled;
}

/**
 * Records the swarm node with the database's volume, and marks the volume as initialized. Changes nothing if the volume
 * is already initialized.
 */
export async function recordNode(
  db: Db,
  serviceId: string,
  node: { id: string; name: string; image: string },
): Promise<void> {
  await db.raw(
    `update data_servers set node_id = :id, node_name = :name, node_image = :image, initialized_at = now(), updated_at = now()
      where id = :serviceId and initialized_at is null`,
    { ...node, serviceId },
  );
}

/** Returns an online host that can run databases of this kind; null if there is none. Prefers the host `preferred`. */
export function hostFor(db: Db, kind: DataKind, preferred: string): Promise<string | null> {
  return oneValue<string>(
    db,
    `select host_id from workers
      where seen_at > now() - interval '${ONLINE_SECONDS} seconds' and :kind = any(data_kinds)
      order by (host_id = :preferred) desc, started_at limit 1`,
    { kind, preferred },
  );
}

export function isHostOnline(db: Db, hostId: string): Promise<boolean> {
  const online = `select from workers where host_id = ? and seen_at > now() - interval '${ONLINE_SECONDS} seconds'`;
  return anyRow(db, online, [hostId]);
}

/** Records the server's address for applications. Returns false if another server on the host uses the port. */
export async function recordReach(
  db: Db,
  serviceId: string,
  reach: { host: string; port: number; hostPort: number | null },
): Promise<boolean> {
  try {
    await db<DataServerRow>('data_servers')
      .where({ id: serviceId })
      .update({ reach_host: reach.host, reach_port: reach.port, host_port: reach.hostPort, updated_at: db.fn.now() });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === '23505') return false;
    throw error;
  }
}

/** Records that the volume is initialized, so that it is never initialized again. */
export async function recordInitialized(db: Db, serviceId: string): Promise<void> {
  await db.raw(
    'update data_servers set initialized_at = coalesce(initialized_at, now()), updated_at = now() where id = ?',
    [serviceId],
  );
}

/**
 * Records the size of the data and the storage state. Returns true if this call changed the storage state, so that only
 * one worker logs the change.
 */
export async function recordUsage(db: Db, serviceId: string, usedBytes: number, state: StorageState): Promise<boolean> {
  const before = await oneValue<StorageState>(
    db,
    `with old as (select id, storage_state from data_servers where id = :serviceId for update)
     update data_servers d set used_bytes = :usedBytes, storage_state = :state, measured_at = now()
       from old where d.id = old.id returning old.storage_state as before`,
    { serviceId, usedBytes, state },
  );
  return before !== null && before !== state;
}

/** Returns database servers of deleted services whose volume is on the host. Excludes volumes in use (`held_until`). */
export async function volumesToRemove(db: Db, hostId: string): Promise<DataServerRow[]> {
  return rowsOf<DataServerRow>(
    db,
    `select d.* from data_servers d join services s on s.id = d.id
      where d.host_id = ? and s.deleted_at is not null and s.lifecycle_status = 'deleted'
        and (d.held_until is null or d.held_until < now())`,
    [hostId],
  );
}

/** Deletes the record of a deleted service's database server. Its volume must already be deleted. */
export async function forgetDataServer(db: Db, serviceId: string): Promise<void> {
  await db.raw(
    'delete from data_servers d using services s where s.id = d.id and d.id = ? and s.deleted_at is not null',
    [serviceId],
  );
}

/** Returns the names of services that refer to a database in variables or in their live release. */
export function servicesReferringTo(db: Db, serviceId: string): Promise<string[]> {
  return valuesOf<string>(
    db,
    `select distinct name from (
       select c.name from variables v join services c on c.id = v.service_id
        where v.reference_service_id = :serviceId and c.deleted_at is null
       union all
       select c.name from variables v join environment_group_services g on g.group_id = v.group_id
         join services c on c.id = g.service_id
        where v.reference_service_id = :serviceId and c.deleted_at is null
       union all
       select c.name from services c join deployments d on d.id = c.live_deployment_id
         join snapshots s on s.id = d.snapshot_id
        where c.deleted_at is null and c.id <> :serviceId
          and exists (select from jsonb_each(s.data_references) r where r.value ->> 'serviceId' = cast(:serviceId as text))
     ) found order by name`,
    { serviceId },
  );
}

/** Marks databases of offline hosts as unhealthy. They are not moved: only the host with their data may start them. */
export function markHostsAway(db: Db): Promise<string[]> {
  return valuesOf<string>(
    db,
    `update services s
        set health_status = 'unhealthy', health_checked_at = now(),
            runtime_detail = 'the host ' || v.host_id || ', which has the volume, is away: the database waits for it, and no other host starts it'
       from data_servers v
      where v.id = s.id and v.initialized_at is not null and v.node_id is null and s.deleted_at is null and s.lifecycle_status = 'active'
        and s.live_deployment_id is not null and s.runtime_detail not like 'the host %, which has the volume, is away%'
        and exists (select from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')
        and not exists (select from workers w
                         where w.host_id = v.host_id and w.seen_at > now() - interval '${AWAY_SECONDS} seconds')
      returning s.id`,
  );
}

/** A host is away if its workers were not seen for this time. Restarting a worker takes less time. */
const AWAY_SECONDS = 60;
