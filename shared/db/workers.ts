import { ONLINE_SECONDS } from './admission.js';
import { type Db, rowsOf } from './client.js';
import type { WorkerRow } from './rows.js';

export type Heartbeat = Omit<WorkerRow, 'started_at' | 'seen_at'>;

/** Says that this worker lives and what it runs. */
export async function beat(db: Db, worker: Heartbeat): Promise<void> {
  await rowsOf(
    db,
    `insert into workers (id, host, host_id, pid, version, queues, deploy_slots, running)
     values (:id, :host, :host_id, :pid, :version, :queues, :deploy_slots, :running)
     on conflict (id) do update set seen_at = now(), running = excluded.running`,
    { ...worker, running: JSON.stringify(worker.running) },
  );
}

/** Takes a worker that ends in order off the list. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await db.raw('delete from workers where id = ?', [id]);
}

/** Workers seen within the last 15 s. */
export async function onlineWorkers(db: Db): Promise<WorkerRow[]> {
  return rowsOf<WorkerRow>(
    db,
    `select * from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds' order by started_at`,
  );
}

/** The catalog's `workerOnline` (specification, Catalog). */
export async function workersOnline(db: Db): Promise<boolean> {
  return (await onlineWorkers(db)).length > 0;
}

/** Forgets workers that have been silent for an hour. */
export async function forgetSilentWorkers(db: Db): Promise<void> {
  await db.raw(`delete from workers where seen_at < now() - interval '1 hour'`);
}
