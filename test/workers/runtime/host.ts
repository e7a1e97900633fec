import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, loadConfig } from '../../../shared/core/config.js';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { Listener } from '../../../shared/core/database/listener.js';
import { createLogger } from '../../../shared/core/log.js';
import type { LogLine } from '../../../shared/logs/model.js';
import { findRun } from '../../../shared/runs/store.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { createToolchains } from '../../../workers/builders/toolchains/toolchain-store.js';
import { releaseOfRun } from '../../../workers/releases/release-of-run.js';
import type { ReplicaRow } from '../../../workers/replicas/rows.js';
import { replicasOf } from '../../../workers/replicas/store.js';
import { CheckRecorder } from '../../../workers/runtime/check-recorder.js';
import { TABLE_PREFIX } from '../../../workers/runtime/process/firewall-rules.js';
import { createProcessRuntime } from '../../../workers/runtime/process/process-host.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { removeCgroupFolders, tokenOf } from '../sandbox/support.js';
import { goLive, storeRelease } from './release-record.js';

/** Logs its events and ends gracefully on SIGTERM. `/die` ends it, `/broken` fails, `/say/` logs a text. */
const SERVER = `
const http = require('node:http');
console.log('begins', process.env.PORT);
const server = http.createServer((request, response) => {
  if (request.url === '/die') { response.end(); process.exit(3); }
  if (request.url === '/broken') response.statusCode = 500;
  if (request.url.startsWith('/say/')) console.log(request.url.slice(5));
  response.end(String(process.pid) + ' ' + require('node:fs').readFileSync('/proc/self/stat', 'utf8').split(' ')[21]);
});
server.listen(process.env.PORT);
process.on('SIGTERM', () => { console.log('ends'); server.close(() => process.exit(0)); server.closeIdleConnections(); });
`;

export interface App {
  program?: string;
  command?: string;
  kind?: ServiceKind;
  configuration?: Partial<ServiceConfiguration>;
  environment?: Record<string, string>;
  live?: boolean;
}

/** A host that runs releases, with its own database. */
export class TestHost {
  readonly database: TestDatabase;
  readonly config: Config;
  readonly sandbox: Sandbox;
  readonly hostId = randomUUID();
  readonly lines = new Map<string, string[]>();
  readonly #specs = new Map<string, ReleaseSpec>();
  readonly #open: { close(): Promise<void> }[] = [];

  constructor(database: TestDatabase, config: Config, sandbox: Sandbox) {
    this.database = database;
    this.config = config;
    this.sandbox = sandbox;
  }

  static async create(settings: Record<string, string> = {}): Promise<TestHost> {
    const dataDir = await mkdtemp(join(tmpdir(), 'ranvier-host-'));
    await chmod(dataDir, 0o711);
    const database = await createTestDatabase();
    const first = 21_000 + (process.pid % 200) * 40;
    const config = loadConfig({
      DATABASE_URL: database.url,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      DATA_DIR: dataDir,
      RUNTIME_PORTS: `${first}-${first + 39}`,
      RELEASE_TIMEOUT_SECONDS: '30',
      STOP_GRACE_SECONDS: '5',
      ...settings,
    });
    const sandbox = await createSandbox({ log: createLogger('test', 'silent'), dataDir });
    return new TestHost(database, config, sandbox);
  }

  /** Starts a worker process on this host, which stores log lines in `log_batches`. Resolves when it leads the host. */
  async worker(): Promise<ChildProcess> {
    const worker = fork(fileURLToPath(new URL('./worker-process.js', import.meta.url)), [], {
      env: {
        DATABASE_URL: this.config.databaseUrl.reveal(),
        SECRETS_KEY: this.config.secretsKey.reveal(),
        DATA_DIR: this.config.dataDir,
        RUNTIME_PORTS: `${this.config.runtimePorts.first}-${this.config.runtimePorts.last}`,
        HOST_ID: this.hostId,
      },
    });
    this.#open.push({
      close: async () => {
        if (worker.exitCode === null && worker.signalCode === null) {
          worker.kill('SIGKILL');
          await once(worker, 'exit');
        }
      },
    });
    await once(worker, 'message');
    return worker;
  }

  /** Creates a runtime driver on this host. If there are several, one leads, and the others record what they want. */
  async runtime({ asksOnly = false } = {}): Promise<RuntimeDriver> {
    const log = createLogger('test', 'silent');
    const listener = new Listener(this.database.url, log);
    await listener.start();
    const runtime = createProcessRuntime({
      db: this.database.db,
      checks: new CheckRecorder(this.database.db, log),
      listener,
      sandbox: this.sandbox,
      toolchains: createToolchains({ ...this.config, log }),
      config: this.config,
      log,
      hostId: this.hostId,
      loadRelease: async (deploymentId, runId) => {
        const spec = this.#specs.get(deploymentId);
        if (!spec) throw new Error(`no release ${deploymentId}`);
        const run = runId === null ? undefined : await findRun(this.database.db, spec.serviceId, runId);
        return run === undefined ? spec : releaseOfRun(spec, run);
      },
      logs: { append: (batch, trx) => this.#append(batch, trx) },
    });
    if (!asksOnly) await runtime.start();
    this.#open.push({
      close: async () => {
        await runtime.close();
        await listener.close();
      },
    });
    return runtime;
  }

  /** Log lines count once their transaction has committed. */
  async #append(batch: { deploymentId: string; lines: LogLine[] }, trx: Transaction): Promise<void> {
    void trx.executionPromise.then(
      () => {
        const known = this.lines.get(batch.deploymentId) ?? [];
        known.push(...batch.lines.map((line) => line.message));
        this.lines.set(batch.deploymentId, known);
      },
      () => undefined,
    );
  }

  async app(app: App = {}): Promise<ReleaseSpec> {
    const spec = await storeRelease(this.database.db, {
      kind: app.kind,
      configuration: { plan: 'standard', ...app.configuration },
      manifest: { startCommand: app.command ?? 'node server.js' },
      environment: app.environment,
    });
    const folder = join(this.config.dataDir, 'images', spec.image.digest);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'server.js'), app.program ?? SERVER);
    this.#specs.set(spec.deploymentId, spec);
    await writeFile(join(this.config.dataDir, 'specs.json'), JSON.stringify([...this.#specs.values()]));
    if (app.live) await this.goLive(spec);
    return spec;
  }

  goLive(spec: ReleaseSpec): Promise<void> {
    return goLive(this.database.db, spec);
  }

  replicas(spec: ReleaseSpec): Promise<ReplicaRow[]> {
    return replicasOf(this.database.db, spec.deploymentId);
  }

  async service(spec: ReleaseSpec): Promise<ServiceRow> {
    const row = await this.database.db<ServiceRow>('services').where({ id: spec.serviceId }).first();
    if (!row) throw new Error('the service is gone');
    return row;
  }

  linesOf(spec: ReleaseSpec): string[] {
    return this.lines.get(spec.deploymentId) ?? [];
  }

  async destroy(): Promise<void> {
    for (const { close } of this.#open) await close();
    await this.sandbox.sweep(async () => () => false);
    await this.database.drop();
    await removeCgroupFolders(this.config.dataDir);
    // The firewall rules of replicas outlive their worker, as the replicas do.
    spawnSync('nft', ['delete', 'table', 'inet', `${TABLE_PREFIX}${tokenOf(await realpath(this.config.dataDir))}`]);
    await rm(this.config.dataDir, { recursive: true, force: true });
  }
}

export const never = new AbortController().signal;

/** Returns the text of a replica's answer. */
export async function ask(replica: Pick<ReplicaRow, 'port'>, path = '/'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${replica.port}${path}`, { headers: { connection: 'close' } });
  return response.text();
}
