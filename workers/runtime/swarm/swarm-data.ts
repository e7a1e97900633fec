import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateServiceOptions } from 'dockerode';
import type { Db } from '../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { openPasswords } from '../../../shared/data/commands.js';
import { portOf } from '../../../shared/data/model.js';
import {
  type DataServerRow,
  forgetDataServer,
  recordNode,
  recordReach,
  volumesToRemove,
} from '../../../shared/data/store.js';
import type { Keyring } from '../../../shared/secrets/keyring.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import { isDataKind } from '../../../shared/services/model.js';
import type { ToolchainStore } from '../../builders/toolchains/toolchain-store.js';
import { discardTree } from '../../core/remove-folders.js';
import { serverManifest } from '../../data/data-builder.js';
import { restoreLeftovers, serverOnHost, type VolumeFiles } from '../../data/data-host.js';
import type { HostServers } from '../../data/data-kinds.js';
import { postgresBytes, redisBytes } from '../../data/measure-server.js';
import { ServerHealth } from '../../data/server-health.js';
import type { AdminAddress } from '../../data/settle-postgres.js';
import { engineStatus } from '../../docker/docker-engine.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { isHeld, whileHeld } from '../../volumes/holds.js';
import { forgetVolume, volumesToRemove as nodeVolumesToRemove } from '../../volumes/volume-store.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { emptyScript } from './server-scripts.js';
import { type DataRelease, serverService, volumeName, volumeService, workService } from './server-service.js';
import type { SwarmContext } from './service-spec.js';
import { type CommandDeps, runTask } from './swarm-command.js';
import type { SwarmServers } from './swarm-services.js';
import type { SwarmNode } from './swarm-view.js';
import { openRemoteVolume, RESTORES } from './volume-agent.js';

export interface SwarmDataDeps extends CommandDeps {
  db: Db;
  keyring: Keyring;
  /** The whole swarm counts as one host. */
  hostId: string;
  /** The swarm node on which this worker's Docker engine runs. */
  ownNode: string;
  toolchains: Pick<ToolchainStore, 'providePostgres' | 'restore'>;
  /** The database programs on this worker's host. They check backups. */
  servers: HostServers;
  loadRelease: (deploymentId: string, runId: null) => Promise<ReleaseSpec>;
  liveRelease: (serviceId: string) => Promise<string | null>;
}

/** Timeout of a task that works on a volume, from the start of the task. */
const VOLUME_WORK_MS = 10 * 60_000;
const TOOLS_MS = 5 * 60_000;
/**
 * How long to wait until a volume is no longer in use. After a Swarm service is removed, the engine takes a moment to
 * remove the service's container, which uses the volume.
 */
const RELEASED_MS = 20_000;
const POLL_MS = 500;

type RemovableVolume = Pick<DataServerRow, 'id' | 'node_id' | 'node_name' | 'node_image'>;

/**
 * Manages the databases of a swarm. A volume stays on the node on which the swarm first prepared it, and its server
 * runs only there. Workers reach the data only over the network: through the published port of the database server, or
 * of a helper task on the same node.
 */
export class SwarmData implements SwarmServers {
  readonly #deps: SwarmDataDeps;
  readonly health: ServerHealth;

  constructor(deps: SwarmDataDeps) {
    this.#deps = deps;
    this.health = new ServerHealth(deps);
  }

  get hostId(): string {
    return this.#deps.hostId;
  }

  dataFolderOf(): null {
    return null;
  }

  async programOf(spec: ReleaseSpec): Promise<string> {
    const { servers, toolchains, log } = this.#deps;
    if (spec.kind === 'redis') {
      if (servers.redis !== null) return servers.redis;
      throw new ReleaseError(
        "copies are checked on the worker's host, which has neither redis-server nor valkey-server; install one of them",
      );
    }
    const signal = AbortSignal.timeout(TOOLS_MS);
    const context = { signal, log: async (line: string) => log.info(line) };
    const name = await toolchains.providePostgres(spec.configuration.databaseVersion, context);
    const [folder = ''] = await toolchains.restore([name], signal);
    return join(folder, 'bin', 'postgres');
  }

  async measure({ kind }: DataServerRow, admin: AdminAddress | null): Promise<number | null> {
    if (admin === null) return null;
    return kind === 'postgres' ? postgresBytes(admin) : redisBytes(admin);
  }

  async serverOf(release: ReleaseSpec, replicaId: string): Promise<(context: SwarmContext) => CreateServiceOptions> {
    const { db, keyring } = this.#deps;
    const spec = dataRelease(release);
    let row = await serverOnHost(this.#deps, spec.serviceId);
    if (await isHeld(db, row.id)) throw new ReleaseError('somebody works on its volume');
    if (row.initialized_at === null) {
      await this.#prepareVolume(spec);
      row = await serverOnHost(this.#deps, spec.serviceId);
    }
    this.#nodeIdOf(row);
    await recordReach(db, row.id, { host: spec.slug, port: portOf(spec.kind), hostPort: null });
    const passwords = openPasswords(keyring, row);
    return (context) => serverService(spec, replicaId, row, passwords, context);
  }

  async openVolume(serviceId: string): Promise<VolumeFiles> {
    const { loadRelease, liveRelease } = this.#deps;
    const nodeId = this.#nodeIdOf(await serverOnHost(this.#deps, serviceId));
    const live = await liveRelease(serviceId);
    if (live === null) throw new ReleaseError('the service has no release');
    const node = await this.#nodeOf(nodeId);
    if (node?.Status.State !== 'ready') {
      throw new ReleaseError(`the node ${node?.Description.Hostname ?? nodeId}, which has its volume, is away`);
    }
    return openRemoteVolume(this.#deps, dataRelease(await loadRelease(live, null)), node);
  }

  async removeRestoreLeftovers(
    statusOf: (operationId: string) => Promise<string | null>,
    only?: string,
  ): Promise<number> {
    const { config, log } = this.#deps;
    const staged = join(config.dataDir, RESTORES);
    const left = await restoreLeftovers(await readdir(staged).catch(() => []), statusOf);
    for (const name of left) await discardTree({ dataDir: config.dataDir, log }, join(staged, name));
    if (only === undefined) return left.length;
    const volume = await this.openVolume(only);
    try {
      const names = await restoreLeftovers(await volume.names(), statusOf);
      for (const name of names) await volume.remove(name);
      return left.length + names.length;
    } finally {
      await volume.close();
    }
  }

  async removeVolumes(): Promise<number> {
    const { db, hostId } = this.#deps;
    const databases = { locked: true, forget: forgetDataServer };
    const others = { locked: false, forget: forgetVolume };
    return (
      (await this.#removeEach(await volumesToRemove(db, hostId), databases)) +
      (await this.#removeEach(await nodeVolumesToRemove(db, hostId, 'node'), others))
    );
  }

  /** Removes deleted volumes and their records. Returns how many were removed. */
  async #removeEach(
    volumes: readonly RemovableVolume[],
    { locked, forget }: { locked: boolean; forget: (db: Db, id: string) => Promise<void> },
  ): Promise<number> {
    const { db, log } = this.#deps;
    let removed = 0;
    for (const volume of volumes) {
      try {
        // Every worker of the swarm runs this loop at the same time. Without `whileHeld`, each worker would stop the
        // tasks with which other workers empty the volume.
        const held = await whileHeld(db, volume.id, async () => {
          const isGone = await this.#removeVolume(volume, { locked });
          if (isGone) await forget(db, volume.id);
          return isGone;
        });
        if (held?.result) removed += 1;
      } catch (error) {
        const where = `${volumeName(volume.id)} on node ${volume.node_name}`;
        log.warn({ volumeId: volume.id }, `${where} could not be removed, a sweep tries again: ${errorMessage(error)}`);
      }
    }
    return removed;
  }

  /** Returns false if the volume cannot be removed yet, for example because its node is offline. */
  async #removeVolume(
    { id, node_id: nodeId, node_image: reference }: RemovableVolume,
    { locked }: { locked: boolean },
  ): Promise<boolean> {
    if (nodeId === null || reference === null) return true;
    const { ownNode } = this.#deps;
    const node = await this.#nodeOf(nodeId);
    // If the node has left the swarm, the volume is gone with it.
    if (node === undefined) return true;
    if (node.Status.State !== 'ready') return false;
    if (nodeId === ownNode) return this.#removeFromOwnNode(volumeName(id));
    const spec = specOfDeleted(id, reference);
    const name = `volume-${id}`;
    const work = { name, nodeId, command: emptyScript({ locked }) };
    const describe = (context: SwarmContext) => workService(spec, work, context);
    await runTask(this.#deps, spec, { name, command: 'empty the volume', describe }, workOptions());
    return true;
  }

  async #removeFromOwnNode(name: string): Promise<boolean> {
    const deadline = Date.now() + RELEASED_MS;
    for (;;) {
      try {
        await this.#deps.engine.calls.getVolume(name).remove();
        return true;
      } catch (error) {
        if (engineStatus(error) === 404) return true;
        // Status 409 means that the volume is still in use.
        if (engineStatus(error) !== 409) throw error;
        if (Date.now() >= deadline) return false;
        await sleep(POLL_MS);
      }
    }
  }

  async #prepareVolume(spec: DataRelease): Promise<void> {
    const name = `volume-${spec.serviceId}`;
    const describe = (context: SwarmContext) => volumeService(spec, name, context);
    const task = await runTask(this.#deps, spec, { name, command: 'prepare the volume', describe }, workOptions());
    const { NodeID: id = '' } = task;
    const node = { id, name: (await this.#nodeOf(id))?.Description.Hostname ?? id };
    await recordNode(this.#deps.db, spec.serviceId, { ...node, image: spec.image.manifest.reference ?? '' });
  }

  #nodeIdOf({ node_id: nodeId }: DataServerRow): string {
    if (nodeId === null) throw new ReleaseError('its volume is on no node of this swarm');
    return nodeId;
  }

  async #nodeOf(id: string): Promise<SwarmNode | undefined> {
    return ((await this.#deps.engine.calls.listNodes()) as SwarmNode[]).find(({ ID }) => ID === id);
  }
}

function dataRelease(spec: ReleaseSpec): DataRelease {
  const { kind } = spec;
  if (!isDataKind(kind)) throw new ReleaseError(`a service of kind ${kind} has no volume`);
  return { ...spec, kind };
}

function workOptions() {
  return {
    signal: AbortSignal.timeout(2 * VOLUME_WORK_MS),
    timeoutMs: VOLUME_WORK_MS,
    onLine: async () => undefined,
  };
}

/** Describes a task on a deleted service's volume. The kind does not matter. */
function specOfDeleted(volumeId: string, reference: string): ReleaseSpec {
  const kind = 'redis';
  return {
    deploymentId: volumeId,
    serviceId: volumeId,
    workspaceId: '',
    userNumber: 0,
    kind,
    slug: 'volume',
    environmentId: null,
    configuration: DEFAULT_CONFIGURATION,
    image: { id: '', digest: '', manifest: serverManifest(kind, { reference }) },
    environment: {},
  };
}
