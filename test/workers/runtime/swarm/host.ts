import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from 'dockerode';
import { type Config, loadConfig } from '../../../../shared/core/config.js';
import type { Transaction } from '../../../../shared/core/database/database-client.js';
import { Listener } from '../../../../shared/core/database/listener.js';
import { createLogger } from '../../../../shared/core/log.js';
import type { LogLine } from '../../../../shared/logs/model.js';
import { findRun } from '../../../../shared/runs/store.js';
import { Keyring } from '../../../../shared/secrets/keyring.js';
import type { ServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../../shared/services/model.js';
import type { ServiceRow } from '../../../../shared/services/rows.js';
import type { DataHost } from '../../../../workers/data/data-host.js';
import { releaseOfRun } from '../../../../workers/releases/release-of-run.js';
import type { ReplicaRow } from '../../../../workers/replicas/rows.js';
import { replicasOf } from '../../../../workers/replicas/store.js';
import { CheckRecorder } from '../../../../workers/runtime/check-recorder.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../../workers/runtime/runtime-driver.js';
import { createSwarmRuntime } from '../../../../workers/runtime/swarm/swarm-runtime.js';
import { DockerMachines, type DockerNode, NODE_IMAGE } from '../../../support/docker.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { goLive, storeRelease } from '../release-record.js';

/** The program is in a variable, so that applications need no image of their own. */
const START = 'exec node -e "$PROGRAM"';

/** Logs its events and ends gracefully on SIGTERM. */
export const SWARM_SERVER = `
const http = require('node:http');
console.log('begins', process.env.PORT);
const id = Math.random();
const server = http.createServer((request, response) => {
  if (request.url === '/die') { response.end(); process.exit(3); }
  if (request.url === '/broken') response.statusCode = 500;
  if (request.url.startsWith('/say/')) console.log(request.url.slice(5));
  if (request.url.startsWith('/ask/')) {
    const signal = AbortSignal.timeout(5000);
    http.get('http://' + request.url.slice(5), { signal }, (answer) => answer.pipe(response))
      .on('error', (error) => response.end(error.code));
    return;
  }
  response.end(String(id));
});
server.listen(process.env.PORT);
process.on('SIGTERM', () => { console.log('ends'); server.close(() => process.exit(0)); server.closeIdleConnections(); });
`;

export interface SwarmApp {
  program?: string;
  command?: string;
  kind?: ServiceKind;
  image?: string;
  /** The environment of the service; null for none. All services share one, because making a network takes a second. */
  environmentId?: string | null;
  configuration?: Partial<ServiceConfiguration>;
  environment?: Record<string, string>;
  live?: boolean;
}

/** A swarm that runs releases, with its own database. */
export class SwarmHost {
  readonly machines: DockerMachines;
  readonly manager: DockerNode;
  readonly database: TestDatabase;
  readonly config: Config;
  readonly #environmentId = randomUUID();
  readonly #specs = new Map<string, ReleaseSpec>();
  readonly #lines = new Map<string, string[]>();
  readonly #open = new Set<() => Promise<void>>();

  private constructor(machines: DockerMachines, manager: DockerNode, database: TestDatabase, config: Config) {
    this.machines = machines;
    this.manager = manager;
    this.database = database;
    this.config = config;
  }

  static async create(settings: Record<string, string> = {}): Promise<SwarmHost> {
    const machines = await DockerMachines.create();
    try {
      const manager = await machines.addManager();
      await manager.importNode();
      const database = await createTestDatabase();
      const config = loadConfig({
        RUNTIME: 'swarm',
        DOCKER_HOST: manager.host,
        DATABASE_URL: database.url,
        SECRETS_KEY: randomBytes(32).toString('base64'),
        DATA_DIR: await mkdtemp(join(tmpdir(), 'ranvier-swarm-')),
        RELEASE_TIMEOUT_SECONDS: '45',
        STOP_GRACE_SECONDS: '5',
        ...settings,
      });
      return new SwarmHost(machines, manager, database, config);
    } catch (error) {
      await machines.destroy();
      throw error;
    }
  }

  async runtime(settings: Partial<Config> = {}): Promise<RuntimeDriver> {
    return (await this.worker(settings)).runtime;
  }

  /** Creates a worker's driver on this swarm, and its access to volumes. `destroy` closes the driver. */
  async worker(settings: Partial<Config> = {}): Promise<{ runtime: RuntimeDriver; data: DataHost }> {
    const log = createLogger('test', 'silent');
    const listener = new Listener(this.database.url, log);
    await listener.start();
    this.#open.add(() => listener.close());
    const { runtime, data } = await createSwarmRuntime({
      db: this.database.db,
      checks: new CheckRecorder(this.database.db, log),
      listener,
      config: { ...this.config, ...settings },
      log,
      loadRelease: async (deploymentId, runId) => {
        const spec = this.#specs.get(deploymentId);
        if (!spec) throw new Error(`no release ${deploymentId}`);
        const run = runId === null ? undefined : await findRun(this.database.db, spec.serviceId, runId);
        return run === undefined ? spec : releaseOfRun(spec, run);
      },
      logs: { append: (batch, trx) => this.#append(batch, trx) },
      keyring: new Keyring(this.config.secretsKey),
      toolchains: { providePostgres: noTools, restore: noTools },
      servers: { kinds: [], redis: null },
    });
    await runtime.start();
    this.#open.add(() => runtime.close());
    return { runtime, data };
  }

  async #append(batch: { deploymentId: string; lines: LogLine[] }, trx: Transaction): Promise<void> {
    void trx.executionPromise.then(
      () => {
        const known = this.#lines.get(batch.deploymentId) ?? [];
        known.push(...batch.lines.map((line) => line.message));
        this.#lines.set(batch.deploymentId, known);
      },
      () => undefined,
    );
  }

  linesOf(spec: ReleaseSpec): string[] {
    return this.#lines.get(spec.deploymentId) ?? [];
  }

  async app(app: SwarmApp = {}): Promise<ReleaseSpec> {
    const { db } = this.database;
    const spec = await storeRelease(db, {
      kind: app.kind,
      configuration: { plan: 'free', ...app.configuration },
      manifest: { reference: app.image ?? NODE_IMAGE, startCommand: app.command ?? START },
      environmentId: app.environmentId === undefined ? this.#environmentId : app.environmentId,
      environment: { PROGRAM: app.program ?? SWARM_SERVER, ...app.environment },
    });
    this.#specs.set(spec.deploymentId, spec);
    if (app.live) await goLive(db, spec);
    return spec;
  }

  replicas(spec: ReleaseSpec): Promise<ReplicaRow[]> {
    return replicasOf(this.database.db, spec.deploymentId);
  }

  async replica(spec: ReleaseSpec): Promise<ReplicaRow> {
    const [row] = await this.replicas(spec);
    if (!row) throw new Error('no replica');
    return row;
  }

  async service(spec: ReleaseSpec): Promise<ServiceRow> {
    const row = await this.database.db<ServiceRow>('services').where({ id: spec.serviceId }).first();
    if (!row) throw new Error('the service is gone');
    return row;
  }

  swarmServices(spec: ReleaseSpec): Promise<Service[]> {
    return this.manager.docker.listServices({ filters: { label: [`ranvier.deployment=${spec.deploymentId}`] } });
  }

  async closeRuntimes(): Promise<void> {
    for (const close of [...this.#open].reverse()) await close();
    this.#open.clear();
  }

  async destroy(): Promise<void> {
    await this.closeRuntimes();
    await this.machines.destroy();
    await this.database.drop();
    await rm(this.config.dataDir, { recursive: true, force: true });
  }
}

/** Returns the text of a replica's answer. */
export async function askSwarm(replica: Pick<ReplicaRow, 'address' | 'port'>, path = '/'): Promise<string> {
  const response = await fetch(`http://${replica.address}:${replica.port}${path}`, {
    headers: { connection: 'close' },
  });
  return response.text();
}

function noTools(): Promise<never> {
  return Promise.reject(new Error('no tools here'));
}
