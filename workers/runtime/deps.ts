import type { Config } from '../../shared/config.js';
import type { Db, Transaction } from '../../shared/db/client.js';
import type { Listener } from '../../shared/db/listener.js';
import type { LogLine } from '../../shared/domain/log.js';
import type { Logger } from '../../shared/log.js';
import type { ReleaseSpec } from './driver.js';

/** Where lines of applications go: stored in the transaction that moves the mark, so each is stored exactly once. */
export interface RuntimeLogs {
  append(
    batch: { serviceId: string; deploymentId: string; source: 'runtime'; lines: LogLine[] },
    trx: Transaction,
  ): Promise<void>;
}

/** What every runtime works with that says in the `replicas` table what is wanted. */
export interface ReplicaRuntimeDeps {
  db: Db;
  listener: Listener;
  config: Config;
  log: Logger;
  /** Names the host in the `replicas` table, and its supervisor's lock. */
  hostId: string;
  /** A release as its deployment's snapshot describes it; called whenever a replica starts. */
  loadRelease: (deploymentId: string) => Promise<ReleaseSpec>;
  logs: RuntimeLogs;
}
