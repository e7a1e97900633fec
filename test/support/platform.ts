import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKey, createWorkspace } from '../../shared/identity/commands.js';
import { onlineWorkers } from '../../shared/workers/store.js';
import { namePrefix } from '../../workers/network/network-model.js';
import { type AppRepository, type Files, makeRepository } from './apps.js';
import { ApiClient, visit } from './client.js';
import { createService, type Service } from './deployments.js';
import { makeUser } from './factories.js';
import type { RawAnswer } from './http.js';
import { commandOf, giveTo, PLATFORM_USER } from './platform-user.js';
import { createTestDatabase, openTestPostgres, type TestDatabase } from './postgres.js';
import { eventually, freePorts, PlatformProcess } from './processes.js';
import { hasRedis, startRedis, type TestRedis } from './redis.js';

export type EngineName = 'postgres' | 'redis';
/** The engines of this run: both, or the one that TEST_ENGINE names. A missing one shows as pending in `describeEngines`. */
export const ENGINES = enginesOf(process.env.TEST_ENGINE);

function enginesOf(only: string | undefined): readonly EngineName[] {
  const all = ['postgres', 'redis'] as const;
  const engines = all.filter((engine) => engine === (only ?? engine));
  if (engines.length === 0) throw new Error(`TEST_ENGINE must be one of ${all.join(', ')}, not "${only}"`);
  return engines;
}

export const DIST = fileURLToPath(new URL('../../', import.meta.url));

/** The time limit of a test with a whole platform on a busy machine: nothing here is a measurement. */
const PLATFORM_TEST_MS = 240_000;

export interface PlatformOptions {
  engine: EngineName;
  workers?: number;
  env?: Record<string, string>;
  /** Its processes run as this user. The tests must run as root then. */
  user?: number | null;
  /** Each process has a session of its own, and with it a share of processor time of its own. */
  detached?: boolean;
}

/** A whole platform of real processes (api, workers, edge) on a database, a data folder and ports of its own. */
export class Platform {
  readonly engine: EngineName;
  readonly database: TestDatabase;
  readonly redis: TestRedis | null;
  readonly dataDir: string;
  readonly apiPort: number;
  readonly edgePort: number;
  readonly env: Record<string, string>;
  readonly user: number | null;
  readonly detached: boolean;
  readonly processes: PlatformProcess[] = [];
  client: ApiClient;
  #place: string | null = null;
  readonly #repositories: AppRepository[] = [];

  constructor(
    init: Pick<
      Platform,
      'engine' | 'database' | 'redis' | 'dataDir' | 'apiPort' | 'edgePort' | 'env' | 'user' | 'detached' | 'client'
    >,
  ) {
    this.engine = init.engine;
    this.database = init.database;
    this.redis = init.redis;
    this.dataDir = init.dataDir;
    this.apiPort = init.apiPort;
    this.edgePort = init.edgePort;
    this.env = init.env;
    this.user = init.user;
    this.detached = init.detached;
    this.client = init.client;
  }

  get workers(): PlatformProcess[] {
    return this.processes.filter((process) => process.name === 'worker' && !process.ended);
  }

  /** A further one has a PORT of its own. */
  async startApi(env: Record<string, string> = {}): Promise<PlatformProcess> {
    const api = this.#spawn('api', 'api/main.js', env);
    await api.ready(async () => (await fetch(`http://127.0.0.1:${env.PORT ?? this.apiPort}/readyz`)).ok);
    return api;
  }

  async startEdge(): Promise<PlatformProcess> {
    const edge = this.#spawn('edge', 'workers/edge/main.js');
    // With TLS the answer is the way to HTTPS.
    const health = `http://127.0.0.1:${this.edgePort}/.ranvier/healthz`;
    await edge.ready(async () => (await fetch(health, { redirect: 'manual' })).status < 400);
    return edge;
  }

  /** `dist` is another version's folder of compiled files. */
  async startWorker(env: Record<string, string> = {}, dist = DIST): Promise<PlatformProcess> {
    const worker = this.#spawn('worker', 'workers/main.js', env, dist);
    await worker.ready(async () => (await onlineWorkers(this.database.db)).some((row) => row.pid === worker.child.pid));
    return worker;
  }

  /** A repository with one commit of these files. It is removed with the platform. */
  async repositoryOf(files: Files): Promise<AppRepository> {
    const repository = await makeRepository(files);
    this.#repositories.push(repository);
    return repository;
  }

  /** A service with a repository of its own, not deployed yet. */
  async serviceOf(
    name: string,
    files: Files,
    configuration: object = {},
    kind = 'web',
  ): Promise<{ service: Service; repository: AppRepository }> {
    const repository = await this.repositoryOf(files);
    const given = { name, kind, configuration: { repository: repository.url, ...configuration } };
    return { service: await createService(this.client, given), repository };
  }

  /** One request through the edge to the host of the service. */
  visit({ url }: Pick<Service, 'url'>, path = '/'): Promise<RawAnswer> {
    return visit(url, this.edgePort, path);
  }

  /** The text of /metrics, as an operator reads it. */
  async metrics(): Promise<string> {
    const { DASHBOARD_USER, DASHBOARD_PASSWORD } = this.env;
    const proof = Buffer.from(`${DASHBOARD_USER}:${DASHBOARD_PASSWORD}`).toString('base64');
    const headers = { Authorization: `Basic ${proof}` };
    const response = await fetch(`http://127.0.0.1:${this.apiPort}/metrics`, { headers });
    if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
    return response.text();
  }

  /** What marks the processes of this platform's sandboxes. Once it was asked for, it is known after the end as well. */
  async sandboxToken(): Promise<string> {
    this.#place ??= await realpath(this.dataDir);
    return createHash('sha256').update(this.#place).digest('hex').slice(0, 16);
  }

  /** The names of its namespaces and links on this host, where other platforms have some as well. */
  async networks(): Promise<string[]> {
    const prefix = namePrefix(await this.sandboxToken());
    const folders = ['/run/netns', '/sys/class/net'].map((folder) => readdir(folder).catch(() => []));
    const names = new Set((await Promise.all(folders)).flat());
    return [...names].filter((name) => name.startsWith(prefix)).sort();
  }

  /**
   * Ends every process, hosted applications included, and removes everything it made. Where the machines that host them are
   * about to be destroyed, `hosted` spares their stop.
   */
  async stop({ hosted = true } = {}): Promise<void> {
    if (hosted) await this.#stopServices();
    for (const process of [...this.processes].reverse()) await process.stop();
    await this.redis?.stop();
    await this.database.drop();
    for (const repository of this.#repositories) await repository.remove();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Hosted processes outlive the platform on purpose, so a test has to take its services down. */
  async #stopServices(): Promise<void> {
    if (this.workers.length === 0) return;
    const { db } = this.database;
    // A live service without replicas would be started again by the sweep.
    await db('services').update({ lifecycle_status: 'suspended' });
    await eventually(
      'no replica runs any more',
      async () => {
        await db.raw(`update replicas set desired = 'stopped' where state <> 'stopped' and desired <> 'stopped'`);
        const left = await db('replicas').whereNot({ state: 'stopped' }).select('id', 'state', 'desired', 'checked_at');
        if (left.length > 0) throw new Error(JSON.stringify(left));
        return true;
      },
      180_000,
    );
  }

  #spawn(name: string, main: string, env: Record<string, string> = {}, dist = DIST): PlatformProcess {
    const args = [...(FLAGS[name] ?? []), join(dist, main)];
    const [file, all] = commandOf(this.user, process.execPath, args);
    const spawned = new PlatformProcess(name, file, all, { ...this.env, ...env }, this.detached);
    this.processes.push(spawned);
    return spawned;
  }
}

/** Flags of Node as the Procfile has them. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  api: ['--max-semi-space-size=4'],
  worker: ['--max-semi-space-size=4', '--expose-gc'],
  edge: ['--max-semi-space-size=4'],
};

/** Starts a platform with its workspace, owner and write key; stop it in `after`. */
export async function startPlatform({
  engine,
  workers = 1,
  env = {},
  user = PLATFORM_USER,
  detached = false,
}: PlatformOptions): Promise<Platform> {
  const database = await createTestDatabase();
  const redis = engine === 'redis' ? await startRedis() : null;
  const dataDir = await mkdtemp(join(tmpdir(), 'ranvier-platform-'));
  await chmod(dataDir, 0o711);
  if (user !== null) {
    await giveTo(user, dataDir);
    await openTestPostgres();
  }
  const [apiPort = 0, edgePort = 0] = await freePorts(2);
  const { workspace, key } = await seed(database);
  const platform = new Platform({
    engine,
    database,
    redis,
    dataDir,
    apiPort,
    edgePort,
    user,
    detached,
    client: new ApiClient(`http://127.0.0.1:${apiPort}/api/v1`, workspace, key),
    env: {
      ...inherited(),
      ...(user === null ? {} : { HOME: join(dataDir, 'home') }),
      // As the launcher sets it.
      MALLOC_ARENA_MAX: '2',
      MALLOC_MMAP_THRESHOLD_: '131072',
      DATABASE_URL: database.url,
      ...(redis ? { REDIS_URL: redis.url } : {}),
      DATA_DIR: dataDir,
      PORT: String(apiPort),
      EDGE_PORT: String(edgePort),
      SECRETS_KEY: randomBytes(32).toString('base64'),
      ALLOW_LOCAL_REPOSITORIES: 'true',
      DASHBOARD_USER: 'operator',
      DASHBOARD_PASSWORD: 'operator-password',
      RATE_LIMIT_READS_PER_MINUTE: '100000',
      RATE_LIMIT_WRITES_PER_MINUTE: '100000',
      LOG_LEVEL: 'info',
      ...env,
    },
  });
  await Promise.all([
    platform.startApi(),
    platform.startEdge(),
    ...Array.from({ length: workers }, () => platform.startWorker()),
  ]);
  return platform;
}

/**
 * A platform of a suite: started before its first test, and stopped with everything that it hosts after its last. `given` is called
 * with it before the tests.
 */
export function usePlatform(
  options: PlatformOptions | (() => PlatformOptions | Promise<PlatformOptions>),
  given: (platform: Platform) => unknown,
): void {
  let platform: Platform | undefined;
  before(async function () {
    this.timeout(PLATFORM_TEST_MS);
    platform = await startPlatform(typeof options === 'function' ? await options() : options);
    await given(platform);
  });
  after(async function () {
    this.timeout(PLATFORM_TEST_MS);
    await platform?.stop();
  });
}

/** The test run's own environment, without settings that would change a platform; NETWORK runs all tests at that level. */
function inherited(): Record<string, string> {
  const names =
    'PATH HOME LANG NODE_EXTRA_CA_CERTS SSL_CERT_FILE HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry NETWORK NODE_COMPILE_CACHE';
  return Object.fromEntries(names.split(' ').flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

async function seed({ db }: TestDatabase): Promise<{ workspace: string; key: string }> {
  const email = 'owner@example.test';
  await makeUser(db, { email });
  const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name: 'Test', owner: email }));
  const { key } = await createKey(db, {
    workspaceId: workspace.id,
    email,
    scope: 'write',
    name: 'test',
    expiresAt: null,
  });
  return { workspace: workspace.id, key };
}

/** The same tests on every engine; where Redis is not installed its half shows as pending. */
export function describeEngines(title: string, tests: (engine: EngineName) => void): void {
  for (const engine of ENGINES) {
    const missing = engine === 'redis' && !hasRedis;
    const name = `${title} (queues on ${engine})${missing ? ': redis-server is not installed' : ''}`;
    const suite = missing ? describe.skip : describe;
    suite(name, function () {
      this.timeout(PLATFORM_TEST_MS);
      tests(engine);
    });
  }
}
