import type { Config } from '../shared/core/config.js';
import type { Db } from '../shared/core/database/database-client.js';
import type { Listener } from '../shared/core/database/listener.js';
import type { Logger } from '../shared/core/log.js';
import type { Mailer } from '../shared/core/mail.js';
import type { Dispatcher } from '../shared/queues/dispatcher.js';
import type { Keyring } from '../shared/secrets/keyring.js';
import type { BackupStores } from './backups/open-stores.js';
import type { Builder, ImageStore } from './builders/builder.js';
import type { ToolchainStore } from './builders/toolchains/toolchain-store.js';
import type { DataBuilder } from './data/data-builder.js';
import type { DataHost } from './data/data-host.js';
import type { FaultWatch } from './deploy/fault-watch.js';
import type { LeaseKeeper } from './engine/lease-keeper.js';
import type { LogSink } from './logs/log-sink.js';
import type { RuntimeDriver } from './runtime/runtime-driver.js';
import type { Sandbox } from './sandbox/sandbox.js';
import type { OriginResolver } from './sources/deployment-origin.js';
import type { RepositorySource } from './sources/repository-source.js';

export interface JobDeps {
  workerId: string;
  config: Config;
  db: Db;
  listener: Listener;
  log: Logger;
  keyring: Keyring;
  mailer: Mailer;
  dispatcher: Dispatcher;
  leases: LeaseKeeper;
  logs: LogSink;
  source: RepositorySource;
  origins: OriginResolver;
  builder: Builder;
  images: ImageStore;
  toolchains: Pick<ToolchainStore, 'restore' | 'sweep'>;
  runtime: RuntimeDriver;
  dataBuilder: DataBuilder;
  /** The database servers of this host, or of the swarm. */
  data: DataHost;
  /** Backups are checked in the sandbox. */
  backups: { stores: BackupStores; sandbox: Sandbox };
  faults: FaultWatch;
}
