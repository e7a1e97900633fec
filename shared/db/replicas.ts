import { v7 as uuidv7 } from 'uuid';
import { describeRuntime, restartDelayMs } from '../domain/replica.js';
import { type Db, lockUntilCommit, rowsOf, type Transaction } from './client.js';
import { CHANNELS } from './listener.js';
import type { ReplicaRow } from './rows.js';

/** A replica that stayed up this long starts again as if it had never died. */
const STABLE_MS = 600_000;
const UNIQUE_VIOLATION = '23505';

/** One attempt to run a replica: `restarts` fences what belongs to an earlier one. */
export type Attempt = Pick<ReplicaRow, 'id' | 'service_id' | 'deployment_id' | 'host_id' | 'restarts'>;

export interface Release {
  serviceId: string;
  deploymentId: string;
  hostId: string;
}

/** What a host has to look after. */
export function replicasOfHost(db: Db, hostId: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow>('replicas').where({ host_id: hostId }).whereNot({ state: 'stopped' }).orderBy('created_at');
}

/** A release's replicas that are not stopped, in the order of their positions. */
export function replicasOf(db: Db, deploymentId: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow>('replicas')
    .where({ deployment_id: deploymentId })
    .whereNot({ state: 'stopped' })
    .orderBy(['generation', 'position']);
}

/**
 * Wants `count` replicas of a release, and returns their generation: the newest that is wanted to run, or with `fresh` a
 * new one beside it. A fresh generation that is there already, because its worker died, is taken up again.
 */
export async function wantReplicas(db: Db, release: Release, count: number, fresh: boolean): Promise<number> {
  const { serviceId, deploymentId, hostId } = release;
  return db.transaction(async (trx) => {
    await lockUntilCommit(trx, `replicas.${deploymentId}`);
    const [known] = await rowsOf<{ running: number[]; newest: number | null }>(
      trx,
      `select coalesce(array_agg(distinct generation) filter (where desired = 'running' and state <> 'stopped'), '{}') as running,
              max(generation) as newest
         from replicas where deployment_id = ?`,
      [deploymentId],
    );
    const running = known?.running ?? [];
    const next = (known?.newest ?? 0) + 1;
    const generation = running.length === 0 || (fresh && running.length === 1) ? next : Math.max(...running);
    for (let position = 1; position <= count; position++) {
      await trx.raw(
        `insert into replicas (id, service_id, deployment_id, host_id, generation, position)
         values (:id, :serviceId, :deploymentId, :hostId, :generation, :position)
         on conflict (deployment_id, generation, position) do update
           set desired = 'running', state = 'pending', host_id = excluded.host_id, restarts = replicas.restarts + 1,
               ready_at = null, stopped_at = null, next_start_at = null, exit_detail = '', log_offset = 0, updated_at = now()
         where replicas.state = 'stopped'`,
        { id: uuidv7(), serviceId, deploymentId, hostId, generation, position },
      );
    }
    await ring(trx, hostId);
    return generation;
  });
}

/** Wants these replicas of a release stopped (all of them where none is named); the edges are told in the same moment. */
export async function wantStopped(db: Db, deploymentId: string, ids?: readonly string[]): Promise<void> {
  await db.transaction(async (trx) => {
    const query = trx<ReplicaRow>('replicas')
      .where({ deployment_id: deploymentId, desired: 'running' })
      .whereNot({ state: 'stopped' });
    if (ids !== undefined) query.whereIn('id', [...ids]);
    const rows = await query.update({ desired: 'stopped', updated_at: trx.fn.now() }).returning('*');
    const [first] = rows;
    if (first) await publish(trx, first, { route: rows.some((row) => row.state === 'ready') });
    for (const hostId of new Set(rows.map((row) => row.host_id))) await ring(trx, hostId);
  });
}

/**
 * Takes a replica that waits to be started, with the port it will listen on. `taken`: another one has the port;
 * `lost`: it does not wait any more.
 */
export async function claimReplica(
  db: Db,
  row: ReplicaRow,
  port: number | null,
): Promise<'claimed' | 'taken' | 'lost'> {
  try {
    const claimed = await db<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts, desired: 'running' })
      .whereIn('state', ['pending', 'exited'])
      .update({
        state: 'starting',
        port,
        pid: null,
        pid_started: null,
        task_id: null,
        log_since: null,
        next_start_at: null,
        started_at: db.fn.now(),
        updated_at: db.fn.now(),
      });
    return claimed === 1 ? 'claimed' : 'lost';
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) return 'taken';
    throw error;
  }
}

/** Records the process of a claimed replica. False: the claim is not ours any more, and the process must end. */
export async function recordProcess(db: Db, row: Attempt, pid: number, startedAt: string): Promise<boolean> {
  const updated = await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting', pid: null })
    .update({ pid, pid_started: startedAt, updated_at: db.fn.now() });
  return updated === 1;
}

/** A start that was broken off (its worker died, or the platform ended): the replica waits again, as a new attempt. */
export async function releaseReplica(db: Db, row: Attempt): Promise<void> {
  await db<ReplicaRow>('replicas')
    .where({ id: row.id, restarts: row.restarts, state: 'starting' })
    .update({
      state: 'pending',
      restarts: row.restarts + 1,
      pid: null,
      pid_started: null,
      port: null,
      updated_at: db.fn.now(),
    });
}

/** The replica passed its health check: from now on the edge may send requests to it. */
export async function recordReady(db: Db, row: Attempt): Promise<void> {
  await change(db, row, ['starting', 'unhealthy'], { route: true }, (trx) => ({
    state: 'ready',
    ready_at: trx.raw('coalesce(ready_at, now())') as unknown as Date,
    checked_at: trx.fn.now() as unknown as Date,
    exit_detail: '',
  }));
}

/** The replica fails its health check; it goes on running, without requests. */
export async function recordUnhealthy(db: Db, row: Attempt): Promise<void> {
  await change(db, row, ['ready'], { route: true }, (trx) => ({
    state: 'unhealthy',
    checked_at: trx.fn.now() as unknown as Date,
  }));
}

/** A health check that changed nothing. */
export async function recordChecked(db: Db, row: ReplicaRow): Promise<void> {
  await change(db, row, [row.state], { route: false, quiet: true }, (trx) => ({
    checked_at: trx.fn.now() as unknown as Date,
  }));
}

/** The wait before a replica that ends now is started again, in milliseconds. */
function backOffMs(row: ReplicaRow, now: Date): number {
  const upMs = now.getTime() - (row.started_at?.getTime() ?? now.getTime());
  return restartDelayMs(upMs > STABLE_MS ? 0 : row.restarts);
}

/**
 * The replica has ended by itself. One that had been ready starts again after a back-off, or the delay of whoever starts it;
 * another has failed for good.
 */
export async function recordExit(
  db: Db,
  row: ReplicaRow,
  detail: string,
  now: Date,
  delayMs = backOffMs(row, now),
): Promise<void> {
  const proven = row.ready_at !== null;
  await change(
    db,
    row,
    ['pending', 'exited', 'starting', 'ready', 'unhealthy'],
    { route: row.state === 'ready' },
    () => ({
      state: 'exited',
      pid: null,
      pid_started: null,
      port: null,
      exit_detail: detail,
      restarts: proven ? row.restarts + 1 : row.restarts,
      next_start_at: proven ? new Date(now.getTime() + delayMs) : null,
    }),
  );
}

/** Nothing of the replica runs any more, and its output is in the log. */
export async function recordStopped(db: Db, row: ReplicaRow): Promise<void> {
  await change(db, row, [row.state], { route: row.state === 'ready' }, (trx) => ({
    state: 'stopped',
    desired: 'stopped',
    pid: null,
    pid_started: null,
    port: null,
    stopped_at: trx.fn.now() as unknown as Date,
  }));
}

/** Moves the mark up to which a replica's output is in the log. False: somebody else has moved it. */
export async function advanceLog(trx: Transaction, id: string, from: number, to: number): Promise<boolean> {
  const updated = await trx<ReplicaRow>('replicas').where({ id, log_offset: from }).update({ log_offset: to });
  return updated === 1;
}

/** The route version of the service, where this release is what its edges serve. */
export async function routeVersionOf(db: Db, row: Attempt): Promise<number | undefined> {
  const [service] = await rowsOf<{ route_version: number }>(
    db,
    'select route_version from services where id = ? and live_deployment_id = ?',
    [row.service_id, row.deployment_id],
  );
  return service?.route_version;
}

interface Publication {
  /** What the edge serves of a live release has changed. */
  route: boolean;
  /** Nobody waits for this news. */
  quiet?: boolean;
}

/** One conditional change of a replica with everything that follows from it; nothing where it is another attempt's. */
async function change(
  db: Db,
  row: Attempt,
  from: ReplicaRow['state'][],
  publication: Publication,
  changes: (trx: Transaction) => Partial<ReplicaRow>,
): Promise<void> {
  await db.transaction(async (trx) => {
    const updated = await trx<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts })
      .whereIn('state', from)
      .update({ ...changes(trx), updated_at: trx.fn.now() });
    if (updated === 0) return;
    await publish(trx, row, publication);
    if (!publication.quiet) await ring(trx, row.host_id);
  });
}

/** Brings a service's health up to date with the replicas of its live release, and tells the edges what has changed. */
async function publish(
  trx: Transaction,
  { service_id, deployment_id }: Attempt,
  { route }: Publication,
): Promise<void> {
  // The lock comes before the look: two replicas that change at once must not overwrite each other's sum.
  const live = await rowsOf(trx, 'select 1 from services where id = ? and live_deployment_id = ? for no key update', [
    service_id,
    deployment_id,
  ]);
  if (live.length === 0) return;
  const { health, detail } = describeRuntime(await replicasOf(trx, deployment_id), new Date());
  await trx.raw(
    `update services
        set health_status = :health, runtime_detail = :detail, health_checked_at = now(),
            route_version = case when :route then nextval('route_versions') else route_version end
      where id = :serviceId`,
    { health, detail, route, serviceId: service_id },
  );
  if (route) await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, service_id]);
}

async function ring(trx: Transaction, hostId: string): Promise<void> {
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, hostId]);
}
