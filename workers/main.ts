import { randomUUID } from 'node:crypto';
import { assertKeysFit } from '../shared/commands/rotate-secrets.js';
import { loadConfig } from '../shared/config.js';
import { createDatabase } from '../shared/db/client.js';
import { installationId } from '../shared/db/installation.js';
import { Leadership } from '../shared/db/leadership.js';
import { Listener } from '../shared/db/listener.js';
import { assertMigrated } from '../shared/db/migrate.js';
import { errorMessage } from '../shared/errors.js';
import { Lifecycle } from '../shared/lifecycle.js';
import { createLogger } from '../shared/log.js';
import { createMailer } from '../shared/mail.js';
import { QUEUE_NAMES } from '../shared/queues/catalog.js';
import { Dispatcher } from '../shared/queues/dispatcher.js';
import { createEngine } from '../shared/queues/engine.js';
import { Keyring } from '../shared/secrets/keyring.js';
import { VERSION } from '../shared/version.js';
import { findRailpack } from './builders/container/railpack.js';
import { createBuilders } from './builders/create.js';
import type { WorkshopDeps } from './deploy/deps.js';
import { loadReleaseSpec } from './deploy/release-spec.js';
import { findAccount } from './docker/credentials.js';
import { connectEngine } from './docker/engine.js';
import { Heartbeat } from './heartbeat.js';
import { identifyHost } from './host.js';
import { LogSink } from './log-sink.js';
import { createRuntime } from './runtime/create.js';
import { createSandbox } from './sandbox/create.js';
import { createGitSource } from './sources/git-source.js';
import { Sweeps } from './sweeps/sweeps.js';
import { WorkerPool } from './workers.js';

/** A worker's process: takes jobs of all queues until it is told to end, then hands over what it runs. */
const bootLog = createLogger('worker', 'info');
try {
  const config = loadConfig();
  const log = createLogger('worker', config.logLevel);
  const lifecycle = new Lifecycle(log, (code) => process.exit(code));
  lifecycle.watchSignals();

  const url = config.databaseUrl.reveal();
  const db = createDatabase({ url, name: 'ranvier-worker', poolSize: config.workerConcurrency * 2 + 10, log });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);
  const keyring = new Keyring(config.secretsKey, ...config.previousSecretsKeys);
  await assertKeysFit(db, keyring);

  const engine = await createEngine(config, log, 'ranvier-worker');
  lifecycle.onEnd('queue engine', () => engine.close());
  const dispatcher = new Dispatcher(db, engine, log);
  lifecycle.onEnd('dispatcher', () => dispatcher.close());
  const listener = new Listener(url, log);
  lifecycle.onEnd('listener', () => listener.close());
  await listener.start();

  const host = await identifyHost(config.dataDir);
  const workerId = randomUUID();
  const mailer = createMailer(config.mail, log);
  lifecycle.onEnd('mailer', () => mailer.close());
  const logs = new LogSink(db, engine, log);
  const sandbox = await createSandbox({ log, dataDir: config.dataDir });
  const source = createGitSource({ config, log });
  const { builder, images, origins } = createBuilders({
    config,
    log,
    installationId: await installationId(db),
    sandbox,
    source,
    engine: config.runtime === 'swarm' ? connectEngine(config) : null,
    railpack: config.runtime === 'swarm' ? await findRailpack(config, sandbox, log) : null,
    findAccount: (workspaceId, registryId) => findAccount(db, keyring, workspaceId, registryId),
  });
  const runtime = await createRuntime({
    db,
    listener,
    sandbox,
    config,
    log,
    hostId: host.id,
    loadRelease: (deploymentId) => loadReleaseSpec(db, keyring, deploymentId),
    logs,
  });
  // TERM ends this worker; INT, which the launcher sends and a person types, the platform as a whole.
  lifecycle.onEnd('runtime', () => runtime.close(lifecycle.reason === 'SIGINT'));
  await runtime.start();

  const deps: WorkshopDeps = {
    workerId,
    config,
    db,
    listener,
    log,
    keyring,
    mailer,
    dispatcher,
    logs,
    source,
    origins,
    builder,
    images,
    runtime,
  };
  const pool = new WorkerPool(deps, engine, log, {
    deploy: config.workerConcurrency,
    'runtime-action': 4,
    deletion: 2,
    'routing-reconciliation': 4,
    'log-ingest': 4,
  });
  lifecycle.onEnd('jobs', () => pool.close());

  const leadership = new Leadership(url, 'ranvier.sweeps', log, (leading) => leading && log.info('leads the sweeps'));
  lifecycle.onEnd('leadership', () => leadership.close());
  await leadership.start();
  const sweeps = new Sweeps(deps, engine, leadership);
  lifecycle.onEnd('sweeps', () => sweeps.close());

  const heartbeat = new Heartbeat(
    db,
    log,
    {
      id: workerId,
      host: host.name,
      host_id: host.id,
      pid: process.pid,
      version: VERSION,
      queues: QUEUE_NAMES,
      deploy_slots: config.workerConcurrency,
    },
    () => pool.running,
  );
  lifecycle.onEnd('heartbeat', () => heartbeat.close());
  await heartbeat.start();
  // Deployments may have waited for a worker to come.
  dispatcher.wake();
  log.info({ workerId, engine: engine.backend, sandbox: sandbox.level }, 'the worker is ready');
} catch (error) {
  bootLog.fatal(errorMessage(error));
  process.exit(1);
}
