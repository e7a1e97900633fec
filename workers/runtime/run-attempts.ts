import type { AttemptOutcome } from '../../shared/runs/model.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { countAttempts, findAttempt, stopAttempts, wantAttempt } from '../replicas/attempt-store.js';
import { isHeld } from '../volumes/holds.js';
import { settleVolumes } from '../volumes/volume-store.js';
import { attemptProgress } from './attempt-progress.js';
import { replicaChange } from './replica-change.js';
import { POLL_MS, type ReplicaRuntimeDeps, stopDeadline } from './replica-runtime-deps.js';
import type { ReleaseSpec, RunAttempt } from './runtime-driver.js';

/** The interval is long, because a run may last for hours. */
const RUN_POLL_MS = 2_000;

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'hostId'>;

/** Implements `RuntimeDriver.runAttempt`. An attempt is a replica that exits by itself. */
export async function runAttempt(
  deps: Deps,
  { serviceId, deploymentId, hasVolumes }: ReleaseSpec,
  { runId, runNumber, attempt, timeoutMs }: RunAttempt,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  signal.throwIfAborted();
  const { db, listener, hostId, config } = deps;
  // A restore holds the volumes, and so does a backup that pauses the service.
  while (hasVolumes && (await isHeld(db, serviceId))) await replicaChange(listener, POLL_MS, signal);
  const place = hasVolumes ? ((await settleVolumes(db, serviceId, hostId)) ?? hostId) : hostId;
  await wantAttempt(db, { runId, runNumber, attempt, serviceId, deploymentId, hostId: place });
  const startMs = config.releaseTimeoutSeconds * 1000;
  for (;;) {
    const progress = attemptProgress(await findAttempt(db, runId, attempt), { now: Date.now(), timeoutMs, startMs });
    if (progress.type !== 'pending') {
      if (progress.type === 'timeout' || progress.type === 'notStarted') await stopRun(deps, runId);
      return progress;
    }
    await replicaChange(listener, Math.min(RUN_POLL_MS, progress.nextMs), signal);
  }
}

/** Implements `RuntimeDriver.stopRun`. */
export async function stopRun({ db, listener, config }: Deps, runId: string): Promise<void> {
  await db.transaction((trx) => stopAttempts(trx, runId));
  const deadline = stopDeadline(config);
  while ((await countAttempts(db, runId)) > 0) {
    if (Date.now() >= deadline) {
      throw new ReleaseError(`run ${runId} was not stopped in time; a worker must run on the host that carries it out`);
    }
    await replicaChange(listener, POLL_MS);
  }
}
