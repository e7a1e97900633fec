import type { Config } from '../../shared/core/config.js';
import type { Db, Transaction } from '../../shared/core/database/client.js';
import type { Listener } from '../../shared/core/database/listener.js';
import type { Logger } from '../../shared/core/log.js';
import type { LogLine } from '../../shared/logs/model.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { CheckRecorder } from './check-recorder.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** Polling interval when no notification arrives, in milliseconds. */
export const POLL_MS = 250;
/** Added to the grace period of the processes: edges have to drain, and another worker may have to take over the host. */
const STOP_SLACK_MS = 60_000;

/** When replicas that are stopped now must be gone, in milliseconds since the epoch. */
export function stopDeadline({ stopGraceSeconds }: Pick<Config, 'stopGraceSeconds'>): number {
  return Date.now() + stopGraceSeconds * 1000 + STOP_SLACK_MS;
}

/** What a runtime works with that keeps the wanted and the observed state of its replicas in the `replicas` table. */
export interface ReplicaRuntimeDeps {
  db: Db;
  listener: Listener;
  config: Config;
  log: Logger;
  /** Names the host in the `replicas` table, and the lock of its supervisor. */
  hostId: string;
  /** Loads a release as its deployment's snapshot describes it, and as the run has it. Controllers call it when a replica starts. */
  loadRelease: (deploymentId: string, runId: string | null) => Promise<ReleaseSpec>;
  logs: RuntimeLogs;
  checks: Pick<CheckRecorder, 'add'>;
}

/** Stores lines of applications. The same transaction moves the mark in the output, so each line is stored exactly once. */
export interface RuntimeLogs {
  append(
    batch: {
      serviceId: string;
      deploymentId: string;
      runId?: string | null;
      source: 'runtime' | 'system';
      lines: LogLine[];
    },
    trx: Transaction,
  ): Promise<void>;
}

/** The part of a runtime that differs between processes and Swarm. */
export interface RuntimeBackend {
  readonly name: string;
  /** Starts to compete for the lead of this host; the leader reconciles its replicas. */
  start(): Promise<void>;
  close(platformEnds: boolean): Promise<void>;
  /** The port of a replica as its application knows it, if the row may have another. */
  ownPort?(row: ReplicaRow): Promise<number | null>;
  /** Why a replica ended before it was ever ready. */
  explainExit(spec: ReleaseSpec, row: ReplicaRow): Promise<string>;
  /** Why a release is not ready in time although no replica has failed. */
  explainSilence(spec: ReleaseSpec, rows: readonly ReplicaRow[]): Promise<string>;
  /** The host that runs a data service, if that does not follow from where the workers are. Throws `ReleaseError` if there is none. */
  hostOfData?(spec: ReleaseSpec): Promise<string>;
}
