import type { Config } from '../../shared/core/config.js';
import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { Listener } from '../../shared/core/database/listener.js';
import type { Logger } from '../../shared/core/log.js';
import type { NewLogBatch } from '../logs/batch-store.js';
import type { CheckRecorder } from './check-recorder.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** Polling interval when no notification arrives, in milliseconds. */
export const POLL_MS = 250;
/**
 * The deadline for stopping replicas is their grace period plus this time, in milliseconds. Edges must drain first,
 * and another worker may have to take over the host.
 */
const STOP_SLACK_MS = 60_000;

/** Returns when a replica must have stopped if it is told to stop now, in milliseconds since the epoch. */
export function stopDeadline({ stopGraceSeconds }: Pick<Config, 'stopGraceSeconds'>): number {
  return Date.now() + stopGraceSeconds * 1000 + STOP_SLACK_MS;
}

/** Dependencies of both runtimes. The table `replicas` holds the desired and the observed state of replicas. */
export interface ReplicaRuntimeDeps {
  db: Db;
  listener: Listener;
  config: Config;
  log: Logger;
  /** The host's id in the table `replicas`, and in the name of its supervisor's lock. */
  hostId: string;
  /**
   * Loads a release from its deployment's snapshot. If a run's id is given, applies the run's command and plan.
   * Called when a replica starts.
   */
  loadRelease: (deploymentId: string, runId: string | null) => Promise<ReleaseSpec>;
  /** Stores output in a transaction that also records how far it was read, so that each line is stored exactly once. */
  logs: { append(batch: NewLogBatch & { deploymentId: string }, trx: Transaction): Promise<void> };
  checks: Pick<CheckRecorder, 'add'>;
}
