import { randomUUID } from 'node:crypto';
import type { Config } from '../shared/core/config.js';
import { assertSessions } from '../shared/core/database/assert-sessions.js';
import { createDatabase, type Db, installationId } from '../shared/core/database/database-client.js';
import { CHANNELS, Listener } from '../shared/core/database/listener.js';
import { assertMigrated } from '../shared/core/database/migrate.js';
import type { Logger } from '../shared/core/log.js';
import { createMailer } from '../shared/core/mail.js';
import type { Lifecycle } from '../shared/core/process-lifecycle.js';
import { VERSION } from '../shared/core/version.js';
import { Dispatcher } from '../shared/queues/dispatcher.js';
import { createEngine } from '../shared/queues/queue-engine.js';
import { QUEUE_NAMES } from '../shared/queues/work-catalog.js';
import { Keyring } from '../shared/secrets/keyring.js';
import { assertKeysFit } from '../shared/secrets/rotate-secrets.js';
import { countRepairs, type HostContents, type Heartbeat as WorkerRecord } from '../shared/workers/store.js';
import { Leadership } from './core/leadership.js';
import { LeaseKeeper } from './engine/lease-keeper.js';
import { WorkerPool } from './engine/worker-pool.js';
import { HANDLERS } from './handlers-by-queue.js';
import { Heartbeat } from './heartbeat.js';
import { type Host, identifyHost } from './host-id.js';
import { LogSink } from './logs/log-sink.js';
import type { RemoteDeps } from './remote/remote-deps.js';
import { RemoteEnds } from './remote/remote-ends.js';
import { sweepDefinitions } from './sweeps/sweep-definitions.js';
import { Sweeps } from './sweeps/sweeps.js';
import type { JobDeps } from './worker-deps.js';

/** How long a shutdown waits for running jobs before it closes the parts that they use. */
const JOBS_END_MS = 15_000;

export interface WorkerProcess {
  config: Config;
  log: Logger;
  lifecycle: Lifecycle;
}

export interface WorkerCore extends WorkerProcess {
  db: Db;
  keyring: Keyring;
  listener: Listener;
  logs: LogSink;
  host: Host;
  installation: string;
}

/** The part of a worker that depends on where it builds and runs: on this host, or in a swarm. */
export interface WorkerHost
  extends Pick<
    JobDeps,
    | 'source'
    | 'origins'
    | 'builder'
    | 'images'
    | 'toolchains'
    | 'runtime'
    | 'dataBuilder'
    | 'data'
    | 'backups'
    | 'faults'
  > {
  remote: Omit<RemoteDeps, 'hostId'>;
  abilities: Pick<
    WorkerRecord,
    'network_isolation' | 'mounts_volumes' | 'runs_images' | 'measures_usage' | 'enters_replicas' | 'data_kinds'
  >;
}

/** Starts a worker, whose parts `lifecycle` closes at the end. `running` counts its running jobs. */
export async function startWorker(
  { config, log, lifecycle }: WorkerProcess,
  openHost: (core: WorkerCore) => Promise<WorkerHost>,
): Promise<{ workerId: string; backend: string; running: () => number }> {
  const url = config.databaseUrl.reveal();
  await assertSessions(url);
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
  listener.on(CHANNELS.work, () => dispatcher.wake());
  await listener.start();

  const host = await identifyHost(config.dataDir);
  const workerId = randomUUID();
  const mailer = createMailer(config.mail, log);
  lifecycle.onEnd('mailer', () => mailer.close());
  const leases = new LeaseKeeper(db, listener, log);
  lifecycle.onEnd('leases', () => leases.close());
  const logs = new LogSink(db, dispatcher);
  const installation = await installationId(db);
  const { abilities, remote, ...parts } = await openHost({
    config,
    log,
    lifecycle,
    db,
    keyring,
    listener,
    logs,
    host,
    installation,
  });
  // SIGTERM ends this worker only. SIGINT, sent by the launcher or by Ctrl-C, ends the platform as a whole.
  lifecycle.onEnd('runtime', () => parts.runtime.close(lifecycle.reason === 'SIGINT'));
  await parts.runtime.start();
  lifecycle.onEnd('fault watch', () => parts.faults.close());

  const deps: JobDeps = { workerId, config, db, listener, log, keyring, mailer, dispatcher, leases, logs, ...parts };
  const slots = { deploy: config.workerConcurrency, run: config.runConcurrency };
  const leadership = new Leadership(url, 'ranvier.sweeps', log, (leading) => leading && log.info('leads the sweeps'));
  const pool = new WorkerPool(deps, engine, log, slots, HANDLERS, leadership);
  lifecycle.onEnd('jobs', () => pool.close(), JOBS_END_MS);

  lifecycle.onEnd('leadership', () => leadership.close());
  await leadership.start();
  let contents: HostContents | null = null;
  const sweeps = new Sweeps(sweepDefinitions(deps, engine), {
    leadership,
    contents: () => contents,
    log,
    countRepairs: (name, repairs) => countRepairs(db, name, repairs),
  });
  lifecycle.onEnd('sweeps', () => sweeps.close());

  const ends = new RemoteEnds({ ...remote, hostId: host.id });
  lifecycle.onEnd('shells', () => ends.close());
  ends.start();

  const record = {
    id: workerId,
    host: host.name,
    host_id: host.id,
    pid: process.pid,
    version: VERSION,
    queues: QUEUE_NAMES,
    deploy_slots: config.workerConcurrency,
    run_slots: config.runConcurrency,
    ...abilities,
  };
  const heartbeat = new Heartbeat(
    db,
    log,
    record,
    () => pool.running,
    (answer) => {
      contents = answer;
      engine.shareWith(answer.workers);
    },
  );
  lifecycle.onEnd('heartbeat', () => heartbeat.close());
  await heartbeat.start();
  // Deployments may have been waiting for a worker, so the dispatcher must look for them now.
  dispatcher.wake();
  return { workerId, backend: engine.backend, running: () => pool.running.length };
}
