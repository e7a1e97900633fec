import { anyRow, type Db, oneRow, rowsOf, type Transaction } from '../core/database/database-client.js';
import type { VolumeRow } from './model.js';

/**
 * A volume with `host`, the name of its node or host. `host` is the host's id if no worker of the host is known, and
 * null if no host has the volume yet.
 */
export type VolumeView = VolumeRow & { host: string | null };

const VIEW = `select v.*, coalesce(v.node_name,
    (select w.host from workers w where w.host_id = v.host_id order by w.seen_at desc limit 1), cast(v.host_id as text)) as host
  from volumes v`;

/** Returns the volumes of a service in order of creation. */
export function listVolumes(db: Db, serviceId: string): Promise<VolumeView[]> {
  return rowsOf<VolumeView>(db, `${VIEW} where v.service_id = ? and v.removed_at is null order by v.created_at, v.id`, [
    serviceId,
  ]);
}

export async function findVolume(db: Db, serviceId: string, id: string): Promise<VolumeView | undefined> {
  const sql = `${VIEW} where v.service_id = :serviceId and v.id = :id and v.removed_at is null`;
  return (await oneRow<VolumeView>(db, sql, { serviceId, id })) ?? undefined;
}

export async function insertVolume(
  trx: Transaction,
  row: Pick<VolumeRow, 'id' | 'service_id' | 'name' | 'mount_path' | 'size_gb'>,
): Promise<void> {
  await trx<VolumeRow>('volumes').insert(row);
}

/** Sets the size of a volume. The host enlarges the file system in a sweep or before the next mount. */
export async function resizeVolume(trx: Transaction, id: string, sizeGb: number): Promise<void> {
  await trx<VolumeRow>('volumes').where({ id }).update({ size_gb: sizeGb, updated_at: trx.fn.now() });
}

/** Deletes a volume. If a host has the volume, its row is kept until the host has deleted the content. */
export async function removeVolume(trx: Transaction, id: string): Promise<void> {
  await trx.raw('update volumes set removed_at = now(), updated_at = now() where id = ?', [id]);
  await trx.raw('delete from volumes where id = ? and host_id is null', [id]);
}

/** Returns true if a replica or run of the service has its volumes mounted, or might have. */
export function isMounted(db: Db, serviceId: string): Promise<boolean> {
  const sql = `select from replicas where service_id = ? and state <> 'stopped' and (volume_id is not null or run_id is not null)`;
  return anyRow(db, sql, [serviceId]);
}
