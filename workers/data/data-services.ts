import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import { openPasswords } from '../../shared/data/commands.js';
import { decideVolume, redisConfiguration } from '../../shared/data/model.js';
import { type DataServerRow, forgetDataServer, recordInitialized, volumesToRemove } from '../../shared/data/store.js';
import { limitsOf } from '../../shared/services/plan-catalog.js';
import type { ToolchainStore } from '../builders/toolchains/toolchain-store.js';
import { LastLines } from '../core/last-lines.js';
import { type DiscardDeps, discardTree } from '../core/remove-folders.js';
import { sweepEach } from '../core/sweep-each.js';
import { ReleaseError } from '../failures/explained-errors.js';
import { scopeOf } from '../network/network-model.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { Sandbox, SandboxSpec } from '../sandbox/sandbox.js';
import { folderBytes } from '../volumes/folder-bytes.js';
import { isHeld } from '../volumes/holds.js';
import type { JobDeps } from '../worker-deps.js';
import { type DataHost, restoreLeftovers, serverOnHost, type VolumeFiles } from './data-host.js';
import type { HostServers } from './data-kinds.js';
import { DataVolume } from './data-volume.js';
import { openLocalVolume } from './local-volume-files.js';
import { initdbCommand, postgresCommand, redisCommand } from './server-commands.js';
import { ServerHealth } from './server-health.js';
import { ServerPorts, type TakenPorts } from './server-ports.js';

export interface DataServicesDeps extends Pick<JobDeps, 'db' | 'log' | 'keyring'> {
  config: Pick<Config, 'dataDir' | 'runtimePorts'>;
  hostId: string;
  sandbox: Sandbox;
  toolchains: Pick<ToolchainStore, 'restore'>;
  servers: HostServers;
}

/** PostgreSQL's WAL does not count towards the tenant's storage, because the server's settings limit it. */
const NOT_MEASURED = ['pg_wal'];
const INITDB_MS = 5 * 60_000;
const RESTORE_MS = 5 * 60_000;

/** Prepares and observes database servers that run as processes on this host. */
export class DataServices implements DataHost {
  readonly #deps: DataServicesDeps;
  readonly health: ServerHealth;
  readonly #ports: ServerPorts;

  constructor(deps: DataServicesDeps) {
    this.#deps = deps;
    this.health = new ServerHealth(deps);
    this.#ports = new ServerPorts({ ...deps, ownNetworks: deps.sandbox.network !== null });
  }

  get hostId(): string {
    return this.#deps.hostId;
  }

  get #discards(): DiscardDeps {
    const { config, log } = this.#deps;
    return { dataDir: config.dataDir, log };
  }

  volumeOf(serviceId: string): DataVolume {
    return new DataVolume(this.#discards, serviceId);
  }

  async claimPort(spec: ReleaseSpec, taken: TakenPorts): Promise<number> {
    return this.#ports.claim(await serverOnHost(this.#deps, spec.serviceId), spec.slug, taken);
  }

  reservedPorts(): Promise<number[]> {
    return this.#ports.reserved();
  }

  /** Checks and initializes the volume, and returns the server's sandbox. Throws `ReleaseError`. */
  async prepare(spec: ReleaseSpec, port: number, directory: string): Promise<Omit<SandboxSpec, 'id'>> {
    const row = await serverOnHost(this.#deps, spec.serviceId);
    if (await isHeld(this.#deps.db, row.id)) throw new ReleaseError('somebody works on its volume');
    const volume = this.volumeOf(row.id);
    const tools = await this.#toolsOf(spec);
    const decision = decideVolume(await volume.observe(row.initialized_at !== null), {
      serviceId: row.id,
      version: row.version,
    });
    switch (decision.type) {
      case 'refuse':
        throw new ReleaseError(decision.reason);
      case 'initialize':
        await volume.initialize(spec.userNumber, (folder) => this.#fill(spec, row, folder, directory, tools));
        break;
      case 'start':
        await volume.settleOwner(spec.userNumber);
        break;
    }
    if (row.initialized_at === null) await recordInitialized(this.#deps.db, row.id);
    return {
      ...this.#commandOf(spec, row, volume, port),
      directory,
      cwd: '',
      userNumber: spec.userNumber,
      limits: limitsOf(spec.kind, spec.configuration.plan),
      writable: [volume.data],
      tools,
      port,
      network: { scope: scopeOf(spec), use: 'application', hostName: spec.slug, alias: spec.alias ?? '' },
    };
  }

  #commandOf(
    spec: ReleaseSpec,
    row: DataServerRow,
    volume: DataVolume,
    port: number,
  ): Pick<SandboxSpec, 'command' | 'env'> {
    const own = this.#deps.sandbox.network !== null;
    const planId = spec.configuration.plan;
    if (row.kind === 'postgres') {
      const listen = own ? '*' : '127.0.0.1';
      return { command: postgresCommand({ planId, port, listen }), env: { DATA: volume.data, LC_ALL: 'C' } };
    }
    const { user, admin } = openPasswords(this.#deps.keyring, row);
    const configuration = redisConfiguration({
      planId,
      evictionPolicy: spec.configuration.evictionPolicy,
      folder: volume.data,
      port,
      bind: own ? '0.0.0.0' : '127.0.0.1',
      passwordHash: hashOf(user),
      adminHash: hashOf(admin),
    });
    return { command: redisCommand(this.#redis()), env: { DATA: volume.data, CONFIGURATION: configuration } };
  }

  async #fill(
    spec: ReleaseSpec,
    row: DataServerRow,
    folder: string,
    directory: string,
    tools: readonly string[],
  ): Promise<void> {
    if (row.kind === 'redis') return;
    const { admin } = openPasswords(this.#deps.keyring, row);
    const output = new LastLines(5);
    const { memoryMb, pids } = limitsOf(spec.kind, spec.configuration.plan);
    const outcome = await this.#deps.sandbox.run(
      {
        id: `command-initdb-${row.id}`,
        command: initdbCommand(),
        directory,
        cwd: '',
        env: { DATA: folder, ADMIN_PASSWORD: admin },
        userNumber: spec.userNumber,
        limits: { memoryMb: Math.max(memoryMb, 512), cpu: 2, pids },
        writable: [folder],
        tools,
        network: { scope: scopeOf(spec), use: 'application', hostName: '' },
      },
      {
        signal: AbortSignal.timeout(INITDB_MS),
        timeoutMs: INITDB_MS,
        graceMs: 1_000,
        onLine: (line) => output.push(line),
      },
    );
    if (outcome.reason === 'exited' && outcome.exitCode === 0) return;
    const how = outcome.reason === 'exited' ? `exit code ${outcome.exitCode}` : outcome.reason;
    throw new ReleaseError(`its first data could not be made (initdb: ${how}): ${output.lines.join(' | ')}`);
  }

  async programOf(spec: ReleaseSpec): Promise<string> {
    if (spec.kind === 'redis') return this.#redis();
    const [folder = ''] = await this.#toolsOf(spec);
    return join(folder, 'bin', 'postgres');
  }

  dataFolderOf(serviceId: string): string {
    return this.volumeOf(serviceId).data;
  }

  measure({ id }: DataServerRow): Promise<number> {
    return folderBytes(this.volumeOf(id).data, NOT_MEASURED);
  }

  openVolume(serviceId: string): Promise<VolumeFiles> {
    return openLocalVolume(this.#discards, this.volumeOf(serviceId));
  }

  async removeRestoreLeftovers(
    statusOf: (operationId: string) => Promise<string | null>,
    only?: string,
  ): Promise<number> {
    const volumes = join(this.#discards.dataDir, 'volumes');
    let removed = 0;
    for (const volume of only === undefined ? await readdir(volumes).catch(() => []) : [only]) {
      const names = await readdir(join(volumes, volume)).catch(() => []);
      for (const name of await restoreLeftovers(names, statusOf)) {
        await discardTree(this.#discards, join(volumes, volume, name));
        removed += 1;
      }
    }
    return removed;
  }

  async removeVolumes(): Promise<number> {
    const { db, hostId, log } = this.#deps;
    const failure = 'the volume of a deleted database could not be removed, a sweep tries again';
    const facts = ({ id: serviceId }: DataServerRow) => ({ serviceId });
    const rows = await volumesToRemove(db, hostId);
    const removed = await sweepEach(rows, { log, atOnce: 1, failure, facts }, async ({ id }) => {
      await this.volumeOf(id).remove();
      await forgetDataServer(db, id);
      return [id];
    });
    return removed.length;
  }

  #toolsOf({ image }: ReleaseSpec): Promise<string[]> {
    const { tools = [] } = image.manifest;
    return tools.length === 0
      ? Promise.resolve([])
      : this.#deps.toolchains.restore(tools, AbortSignal.timeout(RESTORE_MS));
  }

  #redis(): string {
    const { redis } = this.#deps.servers;
    if (redis === null)
      throw new ReleaseError('this host has neither redis-server nor valkey-server; install one of them');
    return redis;
  }
}

function hashOf(password: string): string {
  return createHash('sha256').update(password).digest('hex');
}
