import { anyRow, type Db, returnedRow, type Transaction } from '../core/database/database-client.js';
import { prepare, rowOfPrepared } from '../core/database/prepared.js';
import type { DataReference } from '../data/model.js';

/** The sealed variables of deployments. Deployments of a service with equal variables share a row. */
export interface SnapshotRow {
  id: string;
  service_id: string;
  digest: Buffer | null;
  sealed: Buffer;
  /** Variables that refer to the address or login of a database. Their values are read when a release starts. */
  data_references: Record<string, DataReference>;
  /** Ids of the other services (`provider_ids`) and the environment groups from which values came. */
  provider_ids: string[];
  group_ids: string[];
  /** True if a value came from a protected environment at the time when the variables were read. */
  read_protected: boolean;
  created_at: Date;
}

export async function getSnapshot(db: Db, id: string): Promise<SnapshotRow | null> {
  return (await db<SnapshotRow>('snapshots').where({ id }).first()) ?? null;
}

export async function snapshotIdOf(db: Db, deploymentId: string): Promise<string | null> {
  return (await db('deployments').where({ id: deploymentId }).first('snapshot_id'))?.snapshot_id ?? null;
}

export async function findSnapshot(db: Db, serviceId: string, digest: Buffer): Promise<SnapshotRow | undefined> {
  return db<SnapshotRow>('snapshots').where({ service_id: serviceId, digest }).first();
}

export async function resealSnapshot(trx: Transaction, id: string, sealed: Buffer): Promise<void> {
  await trx<SnapshotRow>('snapshots').where({ id }).update({ sealed });
}

export async function insertSnapshot(trx: Transaction, row: Omit<SnapshotRow, 'created_at'>): Promise<void> {
  const references = trx.raw('?::jsonb', [JSON.stringify(row.data_references)]);
  await trx<SnapshotRow>('snapshots').insert({ ...row, data_references: references });
}

const ERASE = prepare<{ count: number }>(
  `with needed as materialized (
     select d.snapshot_id as id from deployments d where d.service_id = $1 and d.finished_at is null
     union all
     select d.snapshot_id from services s join deployments d on d.id = s.live_deployment_id where s.id = $1
     union all
     select d.snapshot_id from images i join deployments d on d.image_id = i.id
      where i.service_id = $1 and i.removed_at is null and d.status = 'live'
     union all
     select d.snapshot_id from replicas r join deployments d on d.id = r.deployment_id
      where r.service_id = $1 and r.state <> 'stopped'
   ), erased as (
     delete from snapshots s
      where s.service_id = $1 and not exists (select from needed n where n.id = s.id) returning s.id
   )
   select count(*) as count from snapshots s where s.service_id = $1 and s.id not in (select e.id from erased e)`,
);

/**
 * Erases a service's snapshots that no release needs, and returns how many remain. The caller must lock the service.
 */
export async function eraseUnusedSnapshots(trx: Transaction, serviceId: string): Promise<number> {
  return returnedRow(await rowOfPrepared(trx, ERASE, [serviceId])).count;
}

/** Returns true if a value of a snapshot came from an environment that is or was protected. */
export function readsProtected(db: Db, id: string): Promise<boolean> {
  return anyRow(db, `select from snapshots n where n.id = :id and ${snapshotIsProtected('n')}`, { id });
}

/** Returns the SQL condition of `readsProtected` for a snapshot's table alias. */
export function snapshotIsProtected(snapshot: string): string {
  return `(${snapshot}.read_protected
        or exists (select from services ps join environments pe on pe.id = ps.environment_id
                    where ps.id = any(${snapshot}.provider_ids) and pe.protected)
        or exists (select from environment_groups pg where pg.id = any(${snapshot}.group_ids) and ${groupIsProtected('pg')}))`;
}

/** Returns SQL: true if a group belongs to a protected environment or is linked to a service in one. */
export function groupIsProtected(group: string): string {
  return `(exists (select from environments where id = ${group}.environment_id and protected)
        or exists (select from environment_group_services gl join services gs on gs.id = gl.service_id
                     join environments ge on ge.id = gs.environment_id
                    where gl.group_id = ${group}.id and gs.deleted_at is null and ge.protected))`;
}
