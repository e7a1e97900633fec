import { type Db, oneRow, returnedRow, rowsOf } from '../core/database/database-client.js';
import type { DataKind } from '../services/model.js';

export const ONLINE_SECONDS = 15;

export type Heartbeat = Omit<WorkerRow, 'started_at' | 'seen_at'>;

/** What a host has. Its workers skip periodic sweeps for what the host lacks, which saves database queries. */
export interface HostContents {
  databases: boolean;
  volumes: boolean;
  /** True if there are live releases without replicas. They belong to no host yet, so each host may start them. */
  releasesToStart: boolean;
}

export interface HeartbeatAnswer extends HostContents {
  /** The number of workers that are online. */
  workers: number;
}

/** Records a worker's heartbeat and the jobs that it runs. */
export async function recordHeartbeat(db: Db, worker: Heartbeat): Promise<HeartbeatAnswer> {
  const answer = await oneRow<HeartbeatAnswer>(
    db,
    `insert into workers (id, host, host_id, pid, version, queues, deploy_slots, run_slots, network_isolation, measures_usage,
                          runs_images, mounts_volumes, enters_replicas, data_kinds, running, event_loop_p99_ms)
     values (:id, :host, :host_id, :pid, :version, :queues, :deploy_slots, :run_slots, :network_isolation, :measures_usage,
             :runs_images, :mounts_volumes, :enters_replicas, :data_kinds, :running,
             :event_loop_p99_ms)
     on conflict (id) do update
       set seen_at = now(), running = excluded.running, event_loop_p99_ms = excluded.event_loop_p99_ms
     returning (select count(*) from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds') as workers,
               exists (select from data_servers where host_id = :host_id) as databases,
               exists (select from volumes where host_id = :host_id) as volumes,
               exists (select from releases_to_start) as "releasesToStart"`,
    { ...worker, running: JSON.stringify(worker.running) },
  );
  return returnedRow(answer);
}

/** Deletes the record of a worker that is shutting down. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await db.raw('delete from workers where id = ?', [id]);
}

/** Returns the workers whose last heartbeat is at most 15 s old. */
export async function onlineWorkers(db: Db): Promise<WorkerRow[]> {
  return rowsOf<WorkerRow>(
    db,
    `select * from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds' order by started_at`,
  );
}

export interface WorkerAbilities {
  online: boolean;
  /** True if every online worker isolates networks. */
  networkIsolation: boolean;
  /** True if every online worker measures the usage of replicas. */
  measuresUsage: boolean;
  /** True if every online worker pulls, builds and runs images. */
  runsImages: boolean;
  /** The kinds of databases that at least one host can run. */
  dataKinds: DataKind[];
}

/** Returns whether workers are online, and what they can do (specification, Catalog). */
export async function workersOnline(db: Db): Promise<WorkerAbilities> {
  const workers = await onlineWorkers(db);
  const online = workers.length > 0;
  return {
    online,
    networkIsolation: online && workers.every((worker) => worker.network_isolation),
    measuresUsage: online && workers.every((worker) => worker.measures_usage),
    runsImages: online && workers.every((worker) => worker.runs_images),
    dataKinds: [...new Set(workers.flatMap((worker) => worker.data_kinds))],
  };
}

/** Returns true if workers are online but none of them mounts volumes. */
export async function noWorkerMountsVolumes(db: Db): Promise<boolean> {
  const workers = await onlineWorkers(db);
  return workers.length > 0 && !workers.some((worker) => worker.mounts_volumes);
}

/** Error message for a user who adds a volume when no worker mounts volumes. */
export const NO_VOLUMES =
  'no host here mounts volumes: the workers run commands without containers. Install runc and conmon, and start them again';

/** Deletes workers without a heartbeat for an hour. */
export async function forgetSilentWorkers(db: Db): Promise<void> {
  await db.raw(`delete from workers where seen_at < now() - interval '1 hour'`);
}

export async function countRepairs(db: Db, sweep: string, repairs: number): Promise<void> {
  await db.raw(
    `insert into repairs (sweep, count) values (:sweep, :repairs)
     on conflict (sweep) do update set count = repairs.count + excluded.count, last_at = now()`,
    { sweep, repairs },
  );
}

/** Returns how many inconsistencies each periodic sweep has repaired so far. */
export async function repairCounts(db: Db): Promise<{ sweep: string; count: number }[]> {
  return rowsOf(db, 'select sweep, count from repairs order by sweep');
}

export interface WorkerRow {
  id: string;
  host: string;
  host_id: string;
  pid: number;
  version: string;
  queues: string[];
  deploy_slots: number;
  run_slots: number;
  network_isolation: boolean;
  runs_images: boolean;
  /** False if the host runs hosted code without containers. */
  mounts_volumes: boolean;
  measures_usage: boolean;
  /** True if the worker can start commands in its running replicas. */
  enters_replicas: boolean;
  data_kinds: DataKind[];
  running: { queue: string; jobId: string; since: string }[];
  event_loop_p99_ms: number;
  started_at: Date;
  seen_at: Date;
}
