import type { Config } from '../../shared/core/config.js';
import type { Db, Transaction } from '../../shared/core/database/database-client.js';
import type { Listener } from '../../shared/core/database/listener.js';
import type { Logger } from '../../shared/core/log.js';
import type { NewLogBatch } from '../logs/batch-store.js';
import type { CheckRecorder } from './check-recorder.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** Polling interval when no notification arrives. */
export const POLL_MS = 250;
/** Added to the grace period: edges must drain first, and another worker may have to take over the host. */
const STOP_SLACK_MS = 60_000;

/** Returns when a replica that is told to stop now must have stopped, in milliseconds since the epoch. */
export function stopDeadline({ stopGraceSeconds }: Pick<Config, 'stopGraceSeconds'>): number {
  return Date.now() + stopGraceSeconds * 1000 + STOP_SLACK_MS;
}

export interface ReplicaRuntimeDeps {
  db: Db;
  listener: Listener;
  config: Config;
  log: Logger;
  hostId: string;
  /** Loads a release from its deployment's snapshot. For a run, applies the run's command and plan. */
  loadRelease: (deploymentId: string, runId: string | null) => Promise<ReleaseSpec>;
  /** The transaction also records how far output was read, so that each line is stored exactly once. */
  logs: { append(batch: NewLogBatch & { deploymentId: string }, trx: Transaction): Promise<void> };
  checks: Pick<CheckRecorder, 'add'>;
}
