import { type Db, oneRow, rowsOf } from '../../shared/core/database/database-client.js';
import type { VolumeRow } from '../../shared/volumes/model.js';
import type { VolumeState } from './volume-model.js';

/**
 * Returns the host of the service's volumes. If they have no host yet, assigns `preferred` to them. Returns null if the
 * service has no volumes.
 */
export async function settleVolumes(db: Db, serviceId: string, preferred: string): Promise<string | null> {
  return db.transaction(async (trx) => {
    const rows = await rowsOf<{ id: string; host_id: string | null }>(
      trx,
      'select id, host_id from volumes where service_id = ? and removed_at is null order by id for update',
      [serviceId],
    );
    if (rows.length === 0) return null;
    const host = rows.find(({ host_id }) => host_id !== null)?.host_id ?? preferred;
    await trx.raw('update volumes set host_id = ? where service_id = ? and removed_at is null and host_id is null', [
      host,
      serviceId,
    ]);
    return host;
  });
}

/**
 * Returns the swarm node of the service's volumes. If they have no node yet, assigns `preferred` to them. Returns null
 * if they have no node and `preferred` is null.
 */
export async function settleNode(
  db: Db,
  serviceId: string,
  preferred: { id: string; name: string } | null,
  image: string,
): Promise<string | null> {
  return db.transaction(async (trx) => {
    const rows = await rowsOf<{ node_id: string | null; node_name: string | null }>(
      trx,
      'select node_id, node_name from volumes where service_id = ? and removed_at is null order by id for update',
      [serviceId],
    );
    const known = rows.find(({ node_id }) => node_id !== null);
    const id = known?.node_id ?? preferred?.id ?? null;
    if (id === null) return null;
    await trx.raw(
      `update volumes set node_id = :id, node_name = :name, node_image = :image
        where service_id = :serviceId and removed_at is null and node_id is null`,
      { id, name: known?.node_name ?? preferred?.name ?? id, image, serviceId },
    );
    return id;
  });
}

/** Returns the host with the service's volumes; null if they are on no host yet. */
export async function hostOfVolumes(db: Db, serviceId: string): Promise<string | null> {
  const sql = 'select host_id from volumes where service_id = ? and removed_at is null and host_id is not null limit 1';
  return (await oneRow<{ host_id: string }>(db, sql, [serviceId]))?.host_id ?? null;
}

/**
 * Returns the volumes on a host that were created and not deleted. Volumes on a swarm's nodes are not included.
 * `measured_at` tells whether a volume was created, so a volume must not be measured before.
 */
export function volumesOfHost(db: Db, hostId: string): Promise<VolumeRow[]> {
  return rowsOf<VolumeRow>(
    db,
    `select v.* from volumes v join services s on s.id = v.service_id
      where v.host_id = ? and v.node_id is null and v.measured_at is not null
        and v.removed_at is null and s.deleted_at is null`,
    [hostId],
  );
}

/** Returns the volumes on a host or a swarm's nodes that are deleted or belong to a deleted service. */
export function volumesToRemove(db: Db, hostId: string, place: 'host' | 'node'): Promise<VolumeRow[]> {
  return rowsOf<VolumeRow>(
    db,
    `select v.* from volumes v join services s on s.id = v.service_id
      where v.host_id = :hostId and (v.node_id is not null) = :onNode and (v.removed_at is not null or s.deleted_at is not null)`,
    { hostId, onNode: place === 'node' },
  );
}

/** Deletes the record of a volume whose content was removed. */
export async function forgetVolume(db: Db, id: string): Promise<void> {
  await db.raw('delete from volumes where id = ?', [id]);
}

/** Records a volume's usage. Returns true if its state changed; of several workers, only one gets true. */
export async function recordVolumeUsage(db: Db, id: string, usedBytes: number, state: VolumeState): Promise<boolean> {
  const row = await oneRow<{ before: VolumeState }>(
    db,
    `with old as (select id, storage_state from volumes where id = :id for update)
     update volumes v set used_bytes = :usedBytes, storage_state = :state, measured_at = now()
       from old where v.id = old.id returning old.storage_state as before`,
    { id, usedBytes, state },
  );
  return row !== null && row.before !== state;
}

/**
 * Records that a volume's content was created. From now on, missing content is an error, and no empty volume replaces
 * it.
 */
export async function recordMade(db: Db, id: string): Promise<void> {
  await db.raw('update volumes set measured_at = coalesce(measured_at, now()) where id = ?', [id]);
}
