import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { Listener } from '../../shared/core/database/listener.js';
import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import type { BuiltImage, ImageManifest } from '../../shared/images/model.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { storeSnapshot } from '../../shared/variables/snapshots.js';
import type { BuildRequest } from '../../workers/builders/builder.js';
import { FaultWatch, noteFaults } from '../../workers/deploy/fault-watch.js';
import type { JobHelpers } from '../../workers/engine/job-helpers.js';
import { LeaseKeeper } from '../../workers/engine/lease-keeper.js';
import { LogSink } from '../../workers/logs/log-sink.js';
import type { Origin } from '../../workers/sources/deployment-origin.js';
import type { JobDeps } from '../../workers/worker-deps.js';
import { makeDeployment, makeService, makeWorker } from './factories.js';
import { FakeRuntime } from './fake-runtime.js';
import { MANIFEST } from './fixtures.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';
import { readRow } from './records.js';

export const COMMIT = 'c'.repeat(40);
/** The value of a variable of each deployment, which no log and no error may contain. */
export const SECRET = 'correct-horse-battery-staple';

export type Script = (signal: AbortSignal) => Promise<unknown>;

/** Dependencies of job handlers: a real database, and fake sources, builds and replicas that tests script. */
export class TestWorkshop {
  readonly database: TestDatabase;
  readonly keyring: Keyring;
  readonly runtime: FakeRuntime;
  readonly sources = new Map<string, Script>();
  readonly builds = new Map<string, Script>();
  readonly buildRequests: BuildRequest[] = [];
  /** The type of the images that builds make. A static site needs no replicas. */
  imageType: 'process' | 'static' = 'process';
  imageParts: Partial<ImageManifest> = {};
  readonly images = new Set<string>();
  readonly #shared: Omit<JobDeps, 'workerId' | 'faults'>;
  readonly #dataDir: string;
  readonly #closers: (() => unknown)[];

  private constructor(
    database: TestDatabase,
    dataDir: string,
    keyring: Keyring,
    shared: Omit<
      JobDeps,
      'workerId' | 'faults' | 'origins' | 'builder' | 'images' | 'toolchains' | 'runtime' | 'dataBuilder' | 'data'
    >,
  ) {
    this.database = database;
    this.keyring = keyring;
    this.runtime = new FakeRuntime(database.db, randomUUID());
    this.#dataDir = dataDir;
    this.#closers = [() => shared.leases.close(), () => shared.listener.close()];
    this.#shared = {
      ...shared,
      runtime: this.runtime,
      origins: { resolve: (request) => this.#resolve(request.workspaceId, request.signal) },
      builder: { build: (request, { signal }) => this.#build(request, signal), sweep: async () => 0 },
      images: { has: async ({ digest }) => this.images.has(digest), sweep: async () => 0 },
      dataBuilder: { build: () => Promise.reject(new Error('no databases here')) },
      // No test with this class deploys a database.
      data: { hostId: '' } as JobDeps['data'],
      toolchains: { restore: async (names) => [...names], sweep: async () => 0 },
    };
  }

  static async open(): Promise<TestWorkshop> {
    const database = await createTestDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'ranvier-workshop-'));
    const log = createLogger('test', 'silent');
    const secretsKey = randomBytes(32).toString('base64');
    const listener = new Listener(database.url, log);
    await listener.start();
    const keyring = new Keyring(new Sensitive(secretsKey));
    const nothing = () => undefined;
    const dispatcher = { wake: nothing, wakeAdmission: nothing, wakeLogs: nothing } as unknown as JobDeps['dispatcher'];
    return new TestWorkshop(database, dataDir, keyring, {
      config: loadConfig({ DATABASE_URL: database.url, SECRETS_KEY: secretsKey, DATA_DIR: dataDir }),
      db: database.db,
      listener,
      log,
      keyring,
      mailer: {} as JobDeps['mailer'],
      dispatcher,
      leases: new LeaseKeeper(database.db, listener, log),
      logs: new LogSink(database.db, dispatcher),
      source: {} as JobDeps['source'],
      backups: {} as JobDeps['backups'],
    });
  }

  async worker(): Promise<JobDeps> {
    const workerId = await makeWorker(this.database.db, 1);
    return { ...this.#shared, workerId, faults: new FaultWatch(this.#dataDir) };
  }

  /** Creates a worker that does not renew leases: only its own writes tell it of a cancellation or a lost lease. */
  async deafWorker(): Promise<JobDeps> {
    const { signal } = new AbortController();
    const hold: LeaseKeeper['hold'] = (_kind, lease) => ({ ...lease, signal, stop: () => undefined });
    return { ...(await this.worker()), leases: { hold } as LeaseKeeper };
  }

  /** Creates an admitted deployment with a secret variable. `changes` are written into its row. */
  async deployment(
    changes: Partial<Record<keyof DeploymentRow, unknown>> = {},
    service?: ServiceRow,
  ): Promise<DeploymentRow> {
    const { db } = this.database;
    const made = await makeDeployment(db, service ?? (await makeService(db)));
    const resolved = {
      values: { PASSWORD: SECRET },
      dataReferences: {},
      providerIds: [],
      groupIds: [],
      readProtected: false,
    };
    const snapshot = { serviceId: made.service_id, deploymentId: made.id, resolved };
    const snapshotId = await db.transaction((trx) => storeSnapshot(trx, this.keyring, snapshot));
    const [row] = await db<DeploymentRow>('deployments')
      .where({ id: made.id })
      .update({ admitted_at: db.fn.now(), snapshot_id: snapshotId, ...changes } as Partial<DeploymentRow>)
      .returning('*');
    if (!row) throw new Error('no deployment');
    return row;
  }

  async noteFault({ id, fence }: DeploymentRow): Promise<void> {
    const folder = join(this.#dataDir, 'faults');
    await mkdir(folder, { recursive: true });
    noteFaults(folder, [`${id}.${fence}`]);
  }

  read(id: string): Promise<DeploymentRow> {
    return readRow(this.database.db, 'deployments', { id });
  }

  service(id: string): Promise<ServiceRow> {
    return readRow(this.database.db, 'services', { id });
  }

  async messages(deploymentId: string): Promise<string[]> {
    const rows = await this.database.db('log_lines').where({ deployment_id: deploymentId }).orderBy('id');
    return rows.map((row) => row.message);
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
    await this.database.drop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /** Each test service has its own workspace, which identifies the service. */
  async #resolve(workspaceId: string, signal: AbortSignal): Promise<Origin> {
    const service = await this.database.db('services').where({ workspace_id: workspaceId }).first('id');
    await this.sources.get(service.id)?.(signal);
    return { sha: COMMIT, message: 'Change it', description: `Deploys commit ${COMMIT.slice(0, 12)}` };
  }

  async #build(request: BuildRequest, signal: AbortSignal): Promise<BuiltImage> {
    this.buildRequests.push(request);
    await this.builds.get(request.serviceId)?.(signal);
    const digest = randomBytes(32).toString('hex');
    this.images.add(digest);
    return {
      digest,
      sizeBytes: 2048,
      manifest: { ...MANIFEST, type: this.imageType, ...this.imageParts },
    };
  }
}

/** Opens a workshop with a worker before a suite's tests, and closes it after them. */
export function useTestWorkshop(given: (opened: { workshop: TestWorkshop; db: Db; worker: JobDeps }) => unknown): void {
  let workshop: TestWorkshop | undefined;
  before(async () => {
    workshop = await TestWorkshop.open();
    await given({ workshop, db: workshop.database.db, worker: await workshop.worker() });
  });
  after(() => workshop?.close());
}

/** Returns the helpers that a job handler receives in its first attempt. */
export function jobHelpers(changes: Partial<JobHelpers> = {}): JobHelpers {
  return {
    log: createLogger('test', 'silent'),
    signal: new AbortController().signal,
    firstAttempt: true,
    lastAttempt: false,
    report: () => undefined,
    ...changes,
  };
}

/** Returns a script that calls `onStart`, waits until the signal aborts, and rejects with its reason. */
export function untilAborted(onStart: () => unknown): Script {
  return async (signal) => {
    await onStart();
    signal.throwIfAborted();
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  };
}
