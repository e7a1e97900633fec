import '../shared/core/node-version.js';
import { randomUUID } from 'node:crypto';
import { loadConfig } from '../shared/core/config.js';
import { createDatabase, installationId } from '../shared/core/database/database-client.js';
import { Listener } from '../shared/core/database/listener.js';
import { assertMigrated } from '../shared/core/database/migrate.js';
import { errorMessage } from '../shared/core/error-registry.js';
import { IdleMemory } from '../shared/core/idle-memory.js';
import { createLogger } from '../shared/core/log.js';
import { createMailer } from '../shared/core/mail.js';
import { Lifecycle } from '../shared/core/process-lifecycle.js';
import { mapStackTraces } from '../shared/core/stack-traces.js';
import { VERSION } from '../shared/core/version.js';
import { Dispatcher } from '../shared/queues/dispatcher.js';
import { createEngine } from '../shared/queues/queue-engine.js';
import { QUEUE_NAMES } from '../shared/queues/work-catalog.js';
import { Keyring } from '../shared/secrets/keyring.js';
import { assertKeysFit } from '../shared/secrets/rotate-secrets.js';
import { countRepairs } from '../shared/workers/store.js';
import { openBackupStores } from './backups/open-stores.js';
import { createBuilders } from './builders/create-builders.js';
import { createToolchains } from './builders/toolchains/toolchain-store.js';
import { Leadership } from './core/leadership.js';
import { createProcessDataBuilder } from './data/data-builder.js';
import { findHostServers } from './data/data-kinds.js';
import { DataServices } from './data/data-services.js';
import { FaultWatch } from './deploy/fault-watch.js';
import { findAccount } from './docker/registry-accounts.js';
import { LeaseKeeper } from './engine/lease-keeper.js';
import { WorkerPool } from './engine/worker-pool.js';
import { HANDLERS } from './handlers-by-queue.js';
import { Heartbeat } from './heartbeat.js';
import { identifyHost } from './host-id.js';
import { LogSink } from './logs/log-sink.js';
import { openNetwork } from './network/open-network.js';
import { loadReleaseSpec } from './releases/release-spec.js';
import { RemoteEnds } from './remote/remote-ends.js';
import { CheckRecorder } from './runtime/check-recorder.js';
import { usersOf } from './runtime/process/firewall.js';
import { createProcessRuntime } from './runtime/process/process-host.js';
import { createSandbox } from './sandbox/create-sandbox.js';
import { DiskGuard } from './sandbox/disk-guard.js';
import { GitSource } from './sources/git-source.js';
import { createSources, PushedSource } from './sources/pushed-source.js';
import { createSshAccess } from './sources/ssh-access.js';
import { sweepDefinitions } from './sweeps/sweep-definitions.js';
import { Sweeps } from './sweeps/sweeps.js';
import type { JobDeps } from './worker-deps.js';

/** A worker's process: runs jobs of all queues until it gets a signal to end, then hands its jobs over to other workers. */
mapStackTraces();
/** How long running jobs may delay the end of replicas at shutdown, in milliseconds. */
const JOBS_END_MS = 15_000;
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
  const leases = new LeaseKeeper(db, listener, log);
  lifecycle.onEnd('leases', () => leases.close());
  const logs = new LogSink(db, dispatcher);
  const sandbox = await createSandbox({
    log,
    dataDir: config.dataDir,
    isolation: config.runtime === 'process' ? config.isolation : 'auto',
    ociRuntime: config.ociRuntime,
    ports: config.runtimePorts,
    ...(config.runtime === 'process'
      ? { network: async (found) => openNetwork({ config, log, edgeUsers: await usersOf(config.edgeUsers) }, found) }
      : {}),
  });
  const disk = new DiskGuard({ dataDir: config.dataDir, log, end: (id) => sandbox.endForRoom(id) });
  lifecycle.onEnd('disk guard', () => disk.close());
  disk.start();
  const installation = await installationId(db);
  const source = createSources({
    git: new GitSource({ config, log, ssh: createSshAccess({ db, keyring, dataDir: config.dataDir }) }),
    pushed: new PushedSource({ db, keyring, config }),
  });
  const toolchains = createToolchains({ ...config, log });
  // The parts for containers are large, and are loaded only if needed.
  const swarm = config.runtime === 'swarm' ? await import('./swarm-parts.js') : null;
  const containers = swarm?.connectEngine(config) ?? null;
  const { builder, images, origins } = await createBuilders({
    config,
    log,
    installationId: installation,
    sandbox,
    source,
    engine: containers,
    railpack: (await swarm?.findRailpack(config, sandbox, log)) ?? null,
    findAccount: (workspaceId, registryId) => findAccount(db, keyring, workspaceId, registryId),
    toolchains,
  });
  const servers = await findHostServers(sandbox);
  const checks = new CheckRecorder(db, log);
  lifecycle.onEnd('health checks', () => checks.close());
  const runtimeDeps = {
    db,
    listener,
    sandbox,
    toolchains,
    config,
    log,
    keyring,
    servers,
    loadRelease: (deploymentId: string, runId: string | null) => loadReleaseSpec(db, keyring, deploymentId, runId),
    logs,
    checks,
  };
  const { runtime, data, dataKinds } = (await swarm?.createSwarmRuntime(runtimeDeps)) ?? onThisHost();
  function onThisHost() {
    const own = new DataServices({ ...runtimeDeps, hostId: host.id });
    return {
      runtime: createProcessRuntime({ ...runtimeDeps, hostId: host.id, data: own }),
      data: own,
      dataKinds: servers.kinds,
    };
  }
  if (containers !== null) await swarm?.assertBuildkit(containers);
  // SIGTERM ends this worker only. SIGINT, sent by the launcher or by Ctrl-C, ends the platform as a whole.
  lifecycle.onEnd('runtime', () => runtime.close(lifecycle.reason === 'SIGINT'));
  await runtime.start();

  const faults = new FaultWatch(config.dataDir);
  await faults.start();
  lifecycle.onEnd('fault watch', () => faults.close());
  const deps: JobDeps = {
    workerId,
    config,
    db,
    listener,
    log,
    keyring,
    mailer,
    dispatcher,
    leases,
    logs,
    source,
    origins,
    builder,
    images,
    toolchains,
    runtime,
    dataBuilder:
      swarm === null || containers === null
        ? createProcessDataBuilder(toolchains)
        : swarm.createSwarmDataBuilder(config, containers, installation, log),
    data,
    backups: { stores: await openBackupStores(config, { hostId: host.id, installationId: installation }), sandbox },
    faults,
  };
  const slots = { deploy: config.workerConcurrency, run: config.runConcurrency };
  const pool = new WorkerPool(deps, engine, log, slots, HANDLERS);
  lifecycle.onEnd('jobs', () => pool.close(), JOBS_END_MS);

  const leadership = new Leadership(url, 'ranvier.sweeps', log, (leading) => leading && log.info('leads the sweeps'));
  lifecycle.onEnd('leadership', () => leadership.close());
  await leadership.start();
  const sweeps = new Sweeps(sweepDefinitions(deps, engine), {
    leadership,
    log,
    countRepairs: (name, repairs) => countRepairs(db, name, repairs),
  });
  lifecycle.onEnd('sweeps', () => sweeps.close());

  const remote = new RemoteEnds({ ...runtimeDeps, hostId: host.id });
  lifecycle.onEnd('shells', () => remote.close());
  remote.start();

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
      run_slots: config.runConcurrency,
      network_isolation: sandbox.network !== null,
      mounts_volumes: config.runtime === 'swarm' || sandbox.level !== 'none',
      runs_images: containers !== null || sandbox.runsImages,
      measures_usage: config.runtime === 'swarm' || sandbox.measuresUsage,
      enters_replicas: config.runtime === 'process',
      data_kinds: dataKinds,
    },
    () => pool.running,
  );
  lifecycle.onEnd('heartbeat', () => heartbeat.close());
  const idleMemory = new IdleMemory(() => pool.running.length);
  lifecycle.onEnd('idle memory', () => idleMemory.close());
  idleMemory.start();
  await heartbeat.start();
  // Deployments may have been waiting for a worker.
  dispatcher.wake();
  log.info(
    {
      workerId,
      engine: engine.backend,
      sandbox: sandbox.level,
      network: sandbox.network?.level ?? 'shared',
    },
    'the worker is ready',
  );
} catch (error) {
  bootLog.fatal(errorMessage(error));
  process.exit(1);
}
