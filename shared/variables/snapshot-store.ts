import { type Db, rowsOf, type Transaction } from '../core/database/client.js';
import type { DataReference } from '../data/model.js';

/** The variables that deployments were queued with, sealed; deployments of a service with equal ones share a row. */
export interface SnapshotRow {
  id: string;
  service_id: string;
  digest: Buffer | null;
  sealed: Buffer;
  /** Variables that are read from databases when a release starts. */
  data_references: Record<string, DataReference>;
  /** Other services and environment groups that values came from. */
  provider_ids: string[];
  group_ids: string[];
  /** One of them was in a protected environment, or reached one, when the values were read. */
  read_protected: boolean;
  created_at: Date;
}

export async function getSnapshot(db: Db, id: string): Promise<SnapshotRow | null> {
  return (await db<SnapshotRow>('snapshots').where({ id }).first()) ?? null;
}

/** The service's snapshot of this content. */
export async function findSnapshot(db: Db, serviceId: string, digest: Buffer): Promise<SnapshotRow | undefined> {
  return db<SnapshotRow>('snapshots').where({ service_id: serviceId, digest }).first();
}

export async function resealSnapshot(trx: Transaction, id: string, sealed: Buffer): Promise<void> {
  await trx<SnapshotRow>('snapshots').where({ id }).update({ sealed });
}

export async function insertSnapshot(trx: Transaction, row: Omit<SnapshotRow, 'created_at'>): Promise<void> {
  const references = JSON.stringify(row.data_references) as unknown as SnapshotRow['data_references'];
  await trx<SnapshotRow>('snapshots').insert({ ...row, data_references: references });
}

/**
 * Erases the snapshots of a service that no release needs: their deployments have ended, do not serve, have no replica, and
 * cannot be rolled back to. Returns how many are left. The service is locked.
 */
export async function eraseUnusedSnapshots(trx: Transaction, serviceId: string): Promise<number> {
  const [row] = await rowsOf<{ count: number }>(
    trx,
    `with erased as (delete from snapshots s
      where s.service_id = :serviceId and not exists (
        select from deployments d left join images i on i.id = d.image_id
         where d.snapshot_id = s.id
           and (d.finished_at is null
                or (d.status = 'live' and i.id is not null and i.removed_at is null)
                or exists (select from services where live_deployment_id = d.id)
                or exists (select from replicas where deployment_id = d.id and state <> 'stopped')))
      returning s.id)
     select count(*) as count from snapshots s
      where s.service_id = :serviceId and s.id not in (select id from erased)`,
    { serviceId },
  );
  return row?.count ?? 0;
}

/** True if a service or group that a snapshot's values came from is in a protected environment now, or reaches one. */
export async function readsProtected(
  db: Db,
  { provider_ids, group_ids }: Pick<SnapshotRow, 'provider_ids' | 'group_ids'>,
): Promise<boolean> {
  const [row] = await rowsOf<{ found: boolean }>(
    db,
    `select exists (select from services s join environments e on e.id = s.environment_id
                     where s.id = any(cast(:providers as uuid[])) and e.protected)
         or exists (select from environment_groups g where g.id = any(cast(:groups as uuid[])) and ${groupIsProtected('g')})
         as found`,
    { providers: provider_ids, groups: group_ids },
  );
  return row?.found ?? false;
}

/** SQL: a group is confined to a protected environment, or its variables reach a service of one. */
export function groupIsProtected(group: string): string {
  return `(exists (select from environments where id = ${group}.environment_id and protected)
        or exists (select from environment_group_services gl join services gs on gs.id = gl.service_id
                     join environments ge on ge.id = gs.environment_id
                    where gl.group_id = ${group}.id and gs.deleted_at is null and ge.protected))`;
}
