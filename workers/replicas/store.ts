import { type Changes, type Db, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import { CHANNELS } from '../../shared/core/database/listener.js';
import { publishRouteChange } from '../../shared/services/publish-route.js';
import { ASLEEP } from '../../shared/services/wanted-replicas.js';
import { describeRuntime, restartDelayMs } from './model.js';
import { restPort } from './port-store.js';
import { ABANDONED, type Attempt, LOOPBACK, NO_PROCESS, type ReplicaRow } from './rows.js';

/** How long a replica must run, in milliseconds, before its restart back-off is reset. */
const STABLE_MS = 600_000;

const PASSING = { failing_since: null, health_answer: '', replace_at: null, surge_failed: false } as const;

/** Returns the replicas of a host that are not stopped. */
export function replicasOfHost(db: Db, hostId: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow>('replicas').where({ host_id: hostId }).whereNot({ state: 'stopped' }).orderBy('created_at');
}

/** Returns the replicas of a service that mount its volumes and should be running. Includes attempts of runs. */
export function mountedReplicas(db: Db, serviceId: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow>('replicas')
    .where({ service_id: serviceId, desired: 'running' })
    .whereNot({ state: 'stopped' })
    .where((uses) => uses.whereNotNull('volume_id').orWhereNotNull('run_id'))
    .where('pid', '>', ABANDONED);
}

/** Returns a release's replicas that are not stopped, by position. Attempts of runs are not included. */
export function replicasOf(db: Db, deploymentId: string): Promise<ReplicaRow[]> {
  return db<ReplicaRow>('replicas')
    .where({ deployment_id: deploymentId, run_id: null })
    .whereNot({ state: 'stopped' })
    .orderBy(['generation', 'position']);
}

/** Records that the replica passed its health check, so that the edge may send requests to it. */
export async function recordReady(db: Db, row: Attempt): Promise<void> {
  await change(db, row, ['starting', 'unhealthy'], { route: true }, (trx) => ({
    state: 'ready',
    ready_at: trx.raw('coalesce(ready_at, now())'),
    checked_at: trx.fn.now(),
    exit_detail: '',
    ...PASSING,
  }));
}

/** Why a replica gets no requests, and when it will be replaced if it continues to fail. */
export interface CheckFailure {
  answer: string;
  replaceAt: Date;
}

/** Records that the replica gets no more requests. `failure` is null if the application is not at fault. */
export async function recordUnhealthy(db: Db, row: ReplicaRow, failure: CheckFailure | null): Promise<void> {
  await change(db, row, ['ready'], { route: true }, (trx) => ({
    state: 'unhealthy',
    checked_at: trx.fn.now(),
    ...(failure === null
      ? {}
      : {
          failing_since: trx.fn.now(),
          health_answer: failure.answer,
          replace_at: failure.replaceAt,
          replacements: wasStable(row, new Date()) ? 0 : row.replacements,
        }),
  }));
}

/** Records a health check that did not change the state. `answer` is '' if it passed. */
export async function recordChecked(db: Db, row: ReplicaRow, answer = ''): Promise<void> {
  await change(db, row, [row.state], { route: false, quiet: true }, (trx) => ({
    checked_at: trx.fn.now(),
    health_answer: answer,
  }));
}

/** Returns true if the attempt has run long enough that earlier failures no longer count. */
export function wasStable(row: Pick<ReplicaRow, 'started_at'>, now: Date): boolean {
  return now.getTime() - (row.started_at?.getTime() ?? now.getTime()) > STABLE_MS;
}

export interface ExitOptions {
  /** The command's exit code; null if it was killed or its end was not observed. Stored only for attempts of runs. */
  exitCode?: number | null;
  /** How long to wait before the next start, in milliseconds, instead of the usual back-off. */
  delayMs?: number | undefined;
  now?: Date;
}

/** Records that the replica exited by itself. All its output must be in the log. */
export async function recordExit(
  db: Db,
  row: ReplicaRow,
  detail: string,
  {
    exitCode = null,
    now = new Date(),
    delayMs = restartDelayMs(wasStable(row, now) ? 0 : row.restarts),
  }: ExitOptions = {},
): Promise<void> {
  const proven = row.ready_at !== null;
  const from: ReplicaRow['state'][] = ['pending', 'starting'];
  if (row.run_id === null) from.push('ready', 'unhealthy', 'frozen', 'exited');
  const restarts = proven && row.run_id === null;
  await change(db, row, from, { route: row.state === 'ready', frees: hostPortOf(row), restarts }, () => ({
    state: 'exited',
    ...NO_PROCESS,
    exit_detail: detail,
    exit_code: exitCode,
    ...PASSING,
    restarts: proven ? row.restarts + 1 : row.restarts,
    next_start_at: proven ? new Date(now.getTime() + delayMs) : null,
  }));
}

/**
 * Records that the replica is stopped. The caller must have ended its processes and stored all of its output in the
 * log.
 */
export async function recordStopped(db: Db, row: ReplicaRow): Promise<void> {
  await change(db, row, [row.state], { route: row.state === 'ready', frees: hostPortOf(row) }, (trx) => ({
    state: 'stopped',
    desired: 'stopped',
    ...NO_PROCESS,
    stopped_at: trx.fn.now(),
  }));
}

/** Returns the host's port that a replica uses; null for containers and namespaces, which have their own ports. */
function hostPortOf(row: ReplicaRow): number | null {
  return row.task_id === null && row.address === LOOPBACK ? row.port : null;
}

/** Moves the offset up to which a replica's output is in the log. Returns false if another process has moved it. */
export async function advanceLog(trx: Transaction, id: string, from: number, to: number): Promise<boolean> {
  const updated = await trx<ReplicaRow>('replicas').where({ id, log_offset: from }).update({ log_offset: to });
  return updated === 1;
}

/** SQL condition: some visitors get the release `:deployment_id`, because its canary is in progress. */
const IN_CANARY = `exists (select from canaries c where c.deployment_id = cast(:deployment_id as uuid) and c.ended_at is null)`;

/** Returns the service's route version; undefined if visitors do not get this release. */
export async function routeVersionOf(
  db: Db,
  { service_id, deployment_id }: Pick<Attempt, 'service_id' | 'deployment_id'>,
): Promise<number | undefined> {
  const [service] = await rowsOf<{ route_version: number }>(
    db,
    `select route_version from services where id = :service_id and (live_deployment_id = :deployment_id or ${IN_CANARY})`,
    { service_id, deployment_id },
  );
  return service?.route_version;
}

interface Publication {
  /** True if the edge must reload the live release's route. */
  route: boolean;
  /** True if the host need not be notified. */
  quiet?: boolean;
  frees?: number | null;
  /** True if the replica will be restarted. The restart is then recorded, because alerts count restarts. */
  restarts?: boolean;
  /** Nothing is changed unless these columns have these values. */
  only?: Partial<ReplicaRow>;
}

/**
 * Changes a replica and what depends on it. Returns false if its attempt, state or `only` columns are not as expected.
 */
export async function change(
  db: Db,
  row: Attempt,
  from: ReplicaRow['state'][],
  publication: Publication,
  changes: (trx: Transaction) => Changes<ReplicaRow>,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    const updated = await trx<ReplicaRow>('replicas')
      .where({ id: row.id, restarts: row.restarts })
      .whereIn('state', from)
      .where(publication.only ?? {})
      .update({ ...changes(trx), updated_at: trx.fn.now() });
    if (updated === 0) return false;
    if (row.run_id === null) await updateServiceHealth(trx, row, publication);
    if (publication.restarts) await trx('replica_restarts').insert({ service_id: row.service_id });
    if (publication.frees) await restPort(trx, row, publication.frees);
    if (!publication.quiet) await notifyHost(trx, row.host_id);
    return true;
  });
}

/** Updates a service's health from its live release's replicas. Notifies the edges if the route has changed. */
export async function updateServiceHealth(
  trx: Transaction,
  { service_id, deployment_id }: Pick<Attempt, 'service_id' | 'deployment_id'>,
  { route }: Publication,
): Promise<void> {
  // Lock before reading: two replicas that change at the same time must not overwrite each other's summary.
  const live = await rowsOf(trx, 'select 1 from services where id = ? and live_deployment_id = ? for no key update', [
    service_id,
    deployment_id,
  ]);
  if (live.length === 0) {
    if (route && (await routeVersionOf(trx, { service_id, deployment_id })) !== undefined) {
      await publishRouteChange(trx, service_id);
    }
    return;
  }
  const { health, detail } = describeRuntime(await replicasOf(trx, deployment_id), new Date());
  await trx.raw(
    `update services s
        set health_status = :health, runtime_detail = case when ${ASLEEP} and :health = 'unknown' then 'sleeps until the next request' else :detail end,
            health_checked_at = now(),
            route_version = case when :route then nextval('route_versions') else route_version end
      where id = :serviceId`,
    { health, detail, route, serviceId: service_id },
  );
  if (route) await trx.raw('select pg_notify(?, ?)', [CHANNELS.route, service_id]);
}

/** Notifies the supervisor of a host, on commit, that its replicas have changed. */
export async function notifyHost(trx: Transaction, hostId: string): Promise<void> {
  await trx.raw('select pg_notify(?, ?)', [CHANNELS.replica, hostId]);
}

/** Deletes replicas that were stopped more than a day ago. Returns their number. */
export async function deleteOldReplicas(db: Db): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `delete from replicas where state = 'stopped' and stopped_at < now() - interval '1 day' returning id`,
  );
  return rows.length;
}
