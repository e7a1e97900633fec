import '../shared/core/node-version.js';
import { ConfigError, loadConfig } from '../shared/core/config.js';
import { assertSessions } from '../shared/core/database/assert-sessions.js';
import { createDatabase } from '../shared/core/database/database-client.js';
import { assertMigrated } from '../shared/core/database/migrate.js';
import { errorMessage } from '../shared/core/error-registry.js';
import { IdleMemory } from '../shared/core/idle-memory.js';
import { createLogger, type Logger } from '../shared/core/log.js';
import { createMailer } from '../shared/core/mail.js';
import { Lifecycle } from '../shared/core/process-lifecycle.js';
import { mapStackTraces } from '../shared/core/stack-traces.js';
import { Dispatcher } from '../shared/queues/dispatcher.js';
import { createEngine } from '../shared/queues/queue-engine.js';
import { Keyring } from '../shared/secrets/keyring.js';
import { assertKeysFit } from '../shared/secrets/rotate-secrets.js';
import { createApp } from './app.js';
import { internalAddress } from './git/forward-request.js';
import { PushedRepositories } from './git/pushed-repositories.js';
import { startPushUpkeep } from './git/settle-pushes.js';
import { RemoteAccess } from './remote/remote-access.js';
import { startServer } from './server.js';

const POOL_SIZE = 20;
const STATEMENT_TIMEOUT_MS = 10_000;

/** Runs the API process. SIGTERM stops everything started here, in reverse order. */
async function main(log: Logger, lifecycle: Lifecycle): Promise<void> {
  const config = loadConfig();
  log.level = config.logLevel;
  const keyring = new Keyring(config.secretsKey, ...config.previousSecretsKeys);
  const url = config.databaseUrl.reveal();
  await assertSessions(url);
  const db = createDatabase({
    url,
    name: 'ranvier-api',
    poolSize: POOL_SIZE,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    log,
  });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);
  await assertKeysFit(db, keyring);
  const engine = await createEngine(config, log, 'ranvier-api');
  lifecycle.onEnd('queue engine', () => engine.close());
  const dispatcher = new Dispatcher(db, engine, log);
  lifecycle.onEnd('dispatcher', () => dispatcher.close());
  const mailer = createMailer(config.mail, log);
  lifecycle.onEnd('mailer', () => mailer.close());
  const address = internalAddress(config);
  const repositories = new PushedRepositories({ db, log, dataDir: config.dataDir, address });
  lifecycle.onEnd('upkeep of pushes', startPushUpkeep({ db, log, repositories }));
  const app = createApp({ config, db, engine, dispatcher, keyring, mailer, log, isEnding: () => lifecycle.ending });
  const remote = new RemoteAccess({ db, log, address, behindProxy: config.trustProxy });
  const server = await startServer(app, config.port, {
    upgrade: (...request) => remote.upgrade(...request),
    host: config.apiAddress ?? undefined,
    descriptor: config.listenDescriptor,
    behindProxy: config.trustProxy,
  });
  lifecycle.onEnd('server', () => server.close());
  lifecycle.onEnd('shells', () => remote.close());
  const idleMemory = new IdleMemory();
  lifecycle.onEnd('idle memory', () => idleMemory.close());
  idleMemory.start();
  log.info({ url: server.url }, 'the API listens');
  if (!config.publicUrl.startsWith('https:')) {
    log.warn(
      'Browser sessions run without TLS: browsers send their cookie to every port of this host, and the network can read it.' +
        ' Put a TLS proxy in front and set PUBLIC_URL=https://… and TRUST_PROXY=true.',
    );
  }
  if (!config.metricsToken && !config.dashboard) {
    log.info('/metrics answers nobody: set METRICS_TOKEN, or DASHBOARD_USER and DASHBOARD_PASSWORD');
  }
}

mapStackTraces();
const log = createLogger('api', 'info');
const lifecycle = new Lifecycle(log, (code) => process.exit(code));
lifecycle.watchSignals();
try {
  await main(log, lifecycle);
} catch (error) {
  log.fatal(error instanceof ConfigError ? error.message : `The API cannot start: ${errorMessage(error)}`);
  await lifecycle.end('start failed', 1);
}
