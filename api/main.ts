import { assertKeysFit } from '../shared/commands/rotate-secrets.js';
import { ConfigError, loadConfig } from '../shared/config.js';
import { createDatabase } from '../shared/db/client.js';
import { assertMigrated } from '../shared/db/migrate.js';
import { errorMessage } from '../shared/errors.js';
import { Lifecycle } from '../shared/lifecycle.js';
import { createLogger, type Logger } from '../shared/log.js';
import { createMailer } from '../shared/mail.js';
import { Dispatcher } from '../shared/queues/dispatcher.js';
import { createEngine } from '../shared/queues/engine.js';
import { Keyring } from '../shared/secrets/keyring.js';
import { createApp } from './app.js';
import { startServer } from './server.js';

/** The API process: what begins here ends, in the opposite order, with SIGTERM. */
async function main(log: Logger, lifecycle: Lifecycle): Promise<void> {
  const config = loadConfig();
  log.level = config.logLevel;
  const keyring = new Keyring(config.secretsKey, ...config.previousSecretsKeys);
  const db = createDatabase({ url: config.databaseUrl.reveal(), name: 'ranvier-api', log });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);
  await assertKeysFit(db, keyring);
  const engine = await createEngine(config, log, 'ranvier-api');
  lifecycle.onEnd('queue engine', () => engine.close());
  const dispatcher = new Dispatcher(db, engine, log);
  lifecycle.onEnd('dispatcher', () => dispatcher.close());
  const mailer = createMailer(config.mail, log);
  lifecycle.onEnd('mailer', () => mailer.close());
  const app = createApp({ config, db, engine, dispatcher, keyring, mailer, log, isEnding: () => lifecycle.ending });
  const server = await startServer(app, config.port);
  lifecycle.onEnd('server', () => server.close());
  log.info({ url: server.url }, 'the API listens');
}

const log = createLogger('api', 'info');
const lifecycle = new Lifecycle(log, (code) => process.exit(code));
lifecycle.watchSignals();
try {
  await main(log, lifecycle);
} catch (error) {
  log.fatal(error instanceof ConfigError ? error.message : `The API cannot start: ${errorMessage(error)}`);
  await lifecycle.end('start failed', 1);
}
