import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { describeRuntime } from './model.js';
import type { Attempt, ReplicaRow } from './rows.js';
import { updateServiceHealth } from './store.js';

/** Records the time of checks that changed nothing. Skips locked rows: their next check is recorded anyway. */
export async function recordChecks(db: Db, attempts: readonly Pick<Attempt, 'id' | 'restarts'>[]): Promise<void> {
  const services = await rowsOf<Record<'service_id' | 'deployment_id' | 'health_status' | 'runtime_detail', string>>(
    db,
    `with found as (
       select r.id, r.service_id, r.deployment_id from replicas r
         join unnest(cast(:ids as uuid[]), cast(:restarts as int[])) as checked (id, restarts)
           on checked.id = r.id and checked.restarts = r.restarts
        where r.state in ('ready', 'unhealthy') and r.run_id is null
          for no key update of r skip locked),
     noted as (update replicas r set checked_at = now() from found where r.id = found.id),
     live as (
       select s.id from services s
        where (s.id, s.live_deployment_id) in (select service_id, deployment_id from found)
          for no key update skip locked)
     update services s set health_checked_at = now() from live where s.id = live.id
     returning s.id as service_id, s.live_deployment_id as deployment_id, s.health_status, s.runtime_detail`,
    { ids: attempts.map(({ id }) => id), restarts: attempts.map(({ restarts }) => restarts) },
  );
  if (services.length === 0) return;
  const replicas = await db<ReplicaRow>('replicas')
    .whereIn(
      'deployment_id',
      services.map((service) => service.deployment_id),
    )
    .whereNull('run_id')
    .whereNot({ state: 'stopped' })
    .orderBy(['generation', 'position']);
  for (const service of services) {
    const mine = replicas.filter((replica) => replica.deployment_id === service.deployment_id);
    const { health, detail } = describeRuntime(mine, new Date());
    if (health === service.health_status && detail === service.runtime_detail) continue;
    await db.transaction((trx) => updateServiceHealth(trx, service, { route: false }));
  }
}
