import { v7 as uuidv7 } from 'uuid';
import { type Db, lockUntilCommit, rowsOf } from '../../shared/core/database/database-client.js';
import { thawReplicas } from '../../shared/services/thaw.js';
import type { ReplicaRow } from './rows.js';
import { notifyHost, updateServiceHealth } from './store.js';

export interface Release {
  serviceId: string;
  deploymentId: string;
  hostId: string;
  /** The service whose volume the replica uses; null for releases without a volume. */
  volumeId?: string | null;
}

/**
 * Requests `count` replicas of a release and returns their generation. With `fresh`, begins a new generation, unless an
 * earlier worker has already begun it. Replicas beyond `count` are not stopped.
 */
export async function wantReplicas(db: Db, release: Release, count: number, fresh: boolean): Promise<number> {
  const { serviceId, deploymentId, hostId, volumeId = null } = release;
  return db.transaction(async (trx) => {
    await lockUntilCommit(trx, `replicas.${deploymentId}`);
    const [known] = await rowsOf<{ running: number[]; newest: number | null }>(
      trx,
      `select coalesce(array_agg(distinct generation) filter (where desired = 'running' and state <> 'stopped'), '{}') as running,
              max(generation) as newest
         from replicas where deployment_id = ? and run_id is null`,
      [deploymentId],
    );
    const running = known?.running ?? [];
    const next = (known?.newest ?? 0) + 1;
    const generation = running.length === 0 || (fresh && running.length === 1) ? next : Math.max(...running);
    for (let position = 1; position <= count; position++) {
      await trx.raw(
        `insert into replicas (id, service_id, deployment_id, host_id, generation, position, volume_id)
         values (:id, :serviceId, :deploymentId, :hostId, :generation, :position, :volumeId)
         on conflict (deployment_id, generation, position) do update
           set desired = 'running', state = 'pending', host_id = excluded.host_id, restarts = replicas.restarts + 1,
               ready_at = null, stopped_at = null, next_start_at = null, exit_detail = '', log_offset = 0, failing_since = null,
               health_answer = '', replace_at = null, replacements = 0, surge_failed = false, replaces = null, to_freeze = false, updated_at = now()
         where replicas.state = 'stopped'`,
        { id: uuidv7(), serviceId, deploymentId, hostId, generation, position, volumeId },
      );
    }
    await thawReplicas(trx, serviceId, deploymentId);
    await notifyHost(trx, hostId);
    return generation;
  });
}

/** Requests that a release's replicas stop, or only those in `ids`. Notifies the edges in the same transaction. */
export async function wantStopped(db: Db, deploymentId: string, ids?: readonly string[]): Promise<void> {
  await db.transaction(async (trx) => {
    const query = trx<ReplicaRow>('replicas')
      .where({ deployment_id: deploymentId, desired: 'running', run_id: null })
      .whereNot({ state: 'stopped' });
    if (ids !== undefined) query.whereIn('id', [...ids]);
    const rows = await query.update({ desired: 'stopped', updated_at: trx.fn.now() }).returning('*');
    const [first] = rows;
    if (first) await updateServiceHealth(trx, first, { route: rows.some((row) => row.state === 'ready') });
    for (const hostId of new Set(rows.map((row) => row.host_id))) await notifyHost(trx, hostId);
  });
}
