import type { Config } from '../../shared/config.js';
import type { Db } from '../../shared/db/client.js';
import type { Listener } from '../../shared/db/listener.js';
import type { Logger } from '../../shared/log.js';
import type { Mailer } from '../../shared/mail.js';
import type { Dispatcher } from '../../shared/queues/dispatcher.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import type { Builder, ImageStore } from '../builders/builder.js';
import type { LogSink } from '../log-sink.js';
import type { RuntimeDriver } from '../runtime/driver.js';
import type { OriginResolver } from '../sources/origin.js';
import type { RepositorySource } from '../sources/source.js';

/** Everything the jobs work with; `main.ts` makes it once. */
export interface WorkshopDeps {
  workerId: string;
  config: Config;
  db: Db;
  listener: Listener;
  log: Logger;
  keyring: Keyring;
  mailer: Mailer;
  dispatcher: Dispatcher;
  logs: LogSink;
  source: RepositorySource;
  origins: OriginResolver;
  builder: Builder;
  images: ImageStore;
  runtime: RuntimeDriver;
}
