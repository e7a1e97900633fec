import { openBackupStores } from './backups/open-stores.js';
import { createBuilders } from './builders/create-builders.js';
import { createToolchains } from './builders/toolchains/toolchain-store.js';
import { createProcessDataBuilder } from './data/data-builder.js';
import { findHostServers } from './data/data-kinds.js';
import { DataServices } from './data/data-services.js';
import { FaultWatch } from './deploy/fault-watch.js';
import { findAccount } from './docker/registry-accounts.js';
import { openNetwork } from './network/open-network.js';
import { loadReleaseSpec } from './releases/release-spec.js';
import { CheckRecorder } from './runtime/check-recorder.js';
import { usersOf } from './runtime/process/firewall.js';
import { createProcessRuntime } from './runtime/process/process-host.js';
import { createSandbox } from './sandbox/create-sandbox.js';
import { DiskGuard } from './sandbox/disk-guard.js';
import type { Sandbox } from './sandbox/sandbox.js';
import { GitSource } from './sources/git-source.js';
import { createSources, PushedSource } from './sources/pushed-source.js';
import { createSshAccess } from './sources/ssh-access.js';
import type { WorkerCore, WorkerHost } from './start-worker.js';

export interface OpenedHost extends WorkerHost {
  sandbox: Sandbox;
}

/** Creates the parts that build and run services, on this host or, with RUNTIME=swarm, in a swarm. */
export async function openHost(core: WorkerCore): Promise<OpenedHost> {
  const { config, log, lifecycle, db, keyring, listener, logs, host, installation } = core;
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
  const source = createSources({
    git: new GitSource({ config, log, ssh: createSshAccess({ db, keyring, dataDir: config.dataDir }) }),
    pushed: new PushedSource({ db, keyring, config }),
  });
  const toolchains = createToolchains({ ...config, log });
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
  const faults = new FaultWatch(config.dataDir);
  await faults.start();
  return {
    sandbox,
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
    remote: runtimeDeps,
    abilities: {
      network_isolation: sandbox.network !== null,
      mounts_volumes: config.runtime === 'swarm' || sandbox.level !== 'none',
      runs_images: containers !== null || sandbox.runsImages,
      measures_usage: config.runtime === 'swarm' || sandbox.measuresUsage,
      enters_replicas: config.runtime === 'process',
      data_kinds: dataKinds,
    },
  };
}
