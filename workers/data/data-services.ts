import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/client.js';
import { LastLines } from '../../shared/core/last-lines.js';
import type { Logger } from '../../shared/core/log.js';
import { openPasswords } from '../../shared/data/commands.js';
import { decideVolume, portOf, redisConfiguration, storageBytes, storageState } from '../../shared/data/model.js';
import {
  type DataServerRow,
  dataServersOfHost,
  findDataServer,
  forgetDataServer,
  isHeld,
  recordInitialized,
  recordReach,
  volumesToRemove,
} from '../../shared/data/store.js';
import type { ReplicaRow } from '../../shared/replicas/rows.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { databasePlanOf, limitsOf } from '../../shared/workspaces/catalog.js';
import type { ToolchainStore } from '../builders/toolchains/toolchain-store.js';
import { scopeOf } from '../network/network-model.js';
import { freePort } from '../runtime/process/free-port.js';
import { ReleaseError, type ReleaseSpec } from '../runtime/runtime-driver.js';
import type { Sandbox, SandboxSpec } from '../sandbox/sandbox.js';
import type { HostServers } from './data-kinds.js';
import { DataVolume } from './data-volume.js';
import { initdbCommand, postgresCommand, redisCommand } from './server-commands.js';
import { askServer } from './server-probe.js';
import { settlePostgres } from './settle-postgres.js';

export interface DataServicesDeps {
  db: Db;
  config: Pick<Config, 'dataDir' | 'runtimePorts'>;
  log: Logger;
  keyring: Keyring;
  hostId: string;
  sandbox: Sandbox;
  toolchains: Pick<ToolchainStore, 'restore'>;
  servers: HostServers;
}

/** What the controller of a replica passes on about it. */
type Attempt = Pick<ReplicaRow, 'id' | 'restarts' | 'address' | 'port'>;

/** Ports of this host that a server that starts cannot have. */
export interface TakenPorts {
  /** Replicas have them. */
  inUse: readonly number[];
  /** They were given back lately. */
  resting: readonly number[];
}

const INITDB_MS = 5 * 60_000;
const RESTORE_MS = 5 * 60_000;
const PORT_TRIES = 20;

/** Prepares and observes the servers of data services that run as processes of this host. */
export class DataServices {
  readonly #deps: DataServicesDeps;
  /** The attempt of each replica whose users and databases were settled last. */
  readonly #settled = new Map<string, number>();
  /** Since when a replica has given no answer at all, in milliseconds since the epoch. */
  readonly #silentSince = new Map<string, number>();

  constructor(deps: DataServicesDeps) {
    this.#deps = deps;
  }

  get hostId(): string {
    return this.#deps.hostId;
  }

  volumeOf(serviceId: string): DataVolume {
    const { config, log } = this.#deps;
    return new DataVolume({ dataDir: config.dataDir, log }, serviceId);
  }

  /**
   * Chooses the port of a server that starts, and records where applications reach it. On the loopback of the host a server
   * keeps its port for life, unless another program has taken it. Throws `ReleaseError` if there is none.
   */
  async claimPort(spec: ReleaseSpec, { inUse, resting }: TakenPorts): Promise<number> {
    const { db, sandbox, config } = this.#deps;
    const row = await this.#serverOf(spec);
    const usual = portOf(row.kind);
    if (sandbox.network) {
      await recordReach(db, row.id, { host: spec.slug, port: usual, hostPort: null });
      return usual;
    }
    for (let tries = 0; tries < PORT_TRIES; tries++) {
      const kept = row.host_port;
      const reserved = await this.#reservedPorts(row.id);
      const others = new Set([...inUse, ...resting, ...reserved]);
      // Its own port rests after the end of its server, which no edge sends visitors to.
      const isFree = kept !== null && !inUse.includes(kept) && !reserved.includes(kept);
      const port =
        tries === 0 && isFree
          ? await freePort({ first: kept, last: kept }, new Set()).catch(() => freePort(config.runtimePorts, others))
          : await freePort(config.runtimePorts, others);
      if (await recordReach(db, row.id, { host: '127.0.0.1', port, hostPort: port })) return port;
    }
    throw new ReleaseError('every port that was tried went to another database');
  }

  /** The ports of the host's loopback that its servers keep, also while they are stopped. */
  async reservedPorts(): Promise<number[]> {
    return this.#reservedPorts('');
  }

  async #reservedPorts(except: string): Promise<number[]> {
    const rows = await dataServersOfHost(this.#deps.db, this.#deps.hostId);
    return rows.flatMap(({ id, host_port }) => (id === except || host_port === null ? [] : [host_port]));
  }

  /**
   * Checks the volume, makes its data if the service never had any, and returns the sandbox that runs the server. `directory`
   * is an empty folder for it. Throws `ReleaseError` with the reason if the server must not be started.
   */
  async prepare(spec: ReleaseSpec, port: number, directory: string): Promise<Omit<SandboxSpec, 'id'>> {
    const row = await this.#serverOf(spec);
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
      network: { scope: scopeOf(spec), use: 'application', hostName: spec.slug },
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

  /** Makes the first data of a server. Redis makes its own. */
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

  /**
   * Why a server does not pass its check; '' if it accepts connections, and its user and database are there. The first check of
   * each attempt settles them.
   */
  async probe(replica: Attempt, spec: ReleaseSpec): Promise<string> {
    const row = await this.#serverOf(spec);
    const port = replica.port ?? portOf(row.kind);
    const answer = await askServer(row.kind, { address: replica.address, port });
    if (!answer.healthy && answer.silent) {
      if (!this.#silentSince.has(replica.id)) this.#silentSince.set(replica.id, Date.now());
    } else this.#silentSince.delete(replica.id);
    if (!answer.healthy) return answer.answer;
    // By the plan of this release: the one that is live may have a smaller one.
    const state = storageState(row.used_bytes, storageBytes(spec.configuration.plan), row.storage_state);
    if (row.kind === 'postgres' && this.#settled.get(replica.id) !== replica.restarts) {
      const { user, admin } = openPasswords(this.#deps.keyring, row);
      await settlePostgres(
        { host: replica.address, port, password: admin },
        {
          user: row.user_name,
          password: user,
          database: row.database_name,
          maxConnections: databasePlanOf(spec.configuration.plan).maxConnections,
          state,
        },
      );
      this.#settled.set(replica.id, replica.restarts);
    }
    return state === 'closed' ? 'its storage is full: choose a larger plan and deploy it' : '';
  }

  /** How long a server has given no answer at all, in milliseconds. */
  silentMs(replicaId: string): number {
    const since = this.#silentSince.get(replicaId);
    return since === undefined ? 0 : Date.now() - since;
  }

  /** Forgets a replica that is gone. */
  forget(replicaId: string): void {
    this.#settled.delete(replicaId);
    this.#silentSince.delete(replicaId);
  }

  /** The program that a release's server runs. */
  async programOf(spec: ReleaseSpec): Promise<string> {
    if (spec.kind === 'redis') return this.#redis();
    const [folder = ''] = await this.#toolsOf(spec);
    return join(folder, 'bin', 'postgres');
  }

  /** Removes the volumes of deleted services from this host. Returns how many. */
  async removeVolumes(): Promise<number> {
    const { db, hostId } = this.#deps;
    const ids = await volumesToRemove(db, hostId);
    for (const id of ids) {
      await this.volumeOf(id).remove();
      await forgetDataServer(db, id);
    }
    return ids.length;
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

  async #serverOf({ serviceId }: Pick<ReleaseSpec, 'serviceId'>): Promise<DataServerRow> {
    const row = await findDataServer(this.#deps.db, serviceId);
    if (!row) throw new ReleaseError('the record of its server is gone');
    if (row.host_id !== null && row.host_id !== this.#deps.hostId) {
      throw new ReleaseError(`its volume is on another host (${row.host_id})`);
    }
    return row;
  }
}

/** As redis stores passwords. */
function hashOf(password: string): string {
  return createHash('sha256').update(password).digest('hex');
}
