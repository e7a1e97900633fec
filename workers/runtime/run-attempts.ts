import type { AttemptOutcome } from '../../shared/runs/model.js';
import { ReleaseError } from '../failures/explained.js';
import { countAttempts, findAttempt, stopAttempts, wantAttempt } from '../replicas/attempt-store.js';
import { attemptProgress } from './attempt-progress.js';
import { replicaChange } from './replica-change.js';
import { POLL_MS, type ReplicaRuntimeDeps, stopDeadline } from './replica-runtime-deps.js';
import type { ReleaseSpec, RunAttempt } from './runtime-driver.js';

/** Polling interval when no notification arrives, in milliseconds: a run may last for hours. */
const RUN_POLL_MS = 2_000;

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'hostId'>;

/** Carries out the attempts of runs: each is one replica that ends by itself. */
export class RunAttempts {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** See `RuntimeDriver.runAttempt`. */
  async run(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const { db, listener, hostId, config } = this.#deps;
    const { runId, attempt: number, timeoutMs } = attempt;
    const { serviceId, deploymentId } = spec;
    await wantAttempt(db, { runId, runNumber: attempt.runNumber, attempt: number, serviceId, deploymentId, hostId });
    for (;;) {
      const row = await findAttempt(db, runId, number);
      const now = Date.now();
      const progress = attemptProgress(row, { now, timeoutMs, startMs: config.releaseTimeoutSeconds * 1000 });
      if (progress.type !== 'pending') {
        if (progress.type === 'timeout' || progress.type === 'notStarted') await this.stop(runId);
        return progress;
      }
      await replicaChange(listener, Math.min(RUN_POLL_MS, progress.nextMs), signal);
    }
  }

  /** See `RuntimeDriver.stopRun`. */
  async stop(runId: string): Promise<void> {
    const { db, listener, config } = this.#deps;
    await db.transaction((trx) => stopAttempts(trx, runId));
    const deadline = stopDeadline(config);
    while ((await countAttempts(db, runId)) > 0) {
      if (Date.now() >= deadline) {
        throw new ReleaseError(
          `run ${runId} was not stopped in time; a worker must run on the host that carries it out`,
        );
      }
      await replicaChange(listener, POLL_MS, new AbortController().signal);
    }
  }
}
