import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Db } from '../../shared/core/database/database-client.js';
import { createKey, createWorkspace } from '../../shared/identity/commands.js';
import { parseProcfile } from '../../shared/launcher/procfile.js';
import { onlineWorkers } from '../../shared/workers/store.js';
import { namePrefix } from '../../workers/network/network-model.js';
import { ApiClient, visit } from './client.js';
import { createService, type Service } from './deployments.js';
import { makeUser } from './factories.js';
import type { RawAnswer } from './http.js';
import { commandOf, giveTo, PLATFORM_USER } from './platform-user.js';
import { createTestDatabase, openTestPostgres, type TestDatabase } from './postgres.js';
import { eventually, freePorts, PlatformProcess } from './processes.js';
import { hasRedis, startRedis, type TestRedis } from './redis.js';
import { createPlatformRepository, type Files, type TestRepository } from './repositories.js';

export type EngineName = 'postgres' | 'redis';
/** The queue engines to test: both, or the one that TEST_ENGINE names. */
export const ENGINES = enginesOf(process.env.TEST_ENGINE);

function enginesOf(only: string | undefined): readonly EngineName[] {
  const all = ['postgres', 'redis'] as const;
  const engines = all.filter((engine) => engine === (only ?? engine));
  if (engines.length === 0) throw new Error(`TEST_ENGINE must be one of ${all.join(', ')}, not "${only}"`);
  return engines;
}

export const DIST = fileURLToPath(new URL('../../', import.meta.url));

/** Time limit of a test with a whole platform. It is long, because a busy machine delays everything. */
const PLATFORM_TEST_MS = 240_000;

export interface PlatformOptions {
  engine: EngineName;
  workers?: number;
  env?: Record<string, string>;
  /** The user id of its processes. Requires that the tests run as root. */
  user?: number | null;
  /** Each process gets its own session, and so its own share of processor time. */
  detached?: boolean;
}

/** A platform of real processes (API, workers, edge), with its own database, data folder and ports. */
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
  readonly #repositories: TestRepository[] = [];

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

  async startApi(env: Record<string, string> = {}): Promise<PlatformProcess> {
    const api = this.#spawn('api', 'programs/api.js', env);
    await api.ready(async () => (await fetch(`http://127.0.0.1:${env.PORT ?? this.apiPort}/readyz`)).ok);
    return api;
  }

  async startEdge(): Promise<PlatformProcess> {
    const edge = this.#spawn('edge', 'programs/edge.js');
    // With TLS, the answer is a redirect to HTTPS.
    const health = `http://127.0.0.1:${this.edgePort}/.ranvier/healthz`;
    await edge.ready(async () => (await fetch(health, { redirect: 'manual' })).status < 400);
    return edge;
  }

  /** Starts a worker. `dist` is the folder with the compiled files of another version. */
  async startWorker(env: Record<string, string> = {}, dist = DIST): Promise<PlatformProcess> {
    const worker = this.#spawn('worker', 'programs/worker.js', env, dist);
    await worker.ready(async () => (await onlineWorkers(this.database.db)).some((row) => row.pid === worker.child.pid));
    return worker;
  }

  async repositoryOf(files: Files): Promise<TestRepository> {
    const repository = await createPlatformRepository(files);
    this.#repositories.push(repository);
    return repository;
  }

  async serviceOf(
    name: string,
    files: Files,
    configuration: object = {},
    kind = 'web',
  ): Promise<{ service: Service; repository: TestRepository }> {
    const repository = await this.repositoryOf(files);
    const given = { name, kind, configuration: { repository: repository.url, ...configuration } };
    return { service: await createService(this.client, given), repository };
  }

  visit({ url }: Pick<Service, 'url'>, path = '/'): Promise<RawAnswer> {
    return visit(url, this.edgePort, path);
  }

  async metrics(): Promise<string> {
    const { DASHBOARD_USER, DASHBOARD_PASSWORD } = this.env;
    const proof = Buffer.from(`${DASHBOARD_USER}:${DASHBOARD_PASSWORD}`).toString('base64');
    const headers = { Authorization: `Basic ${proof}` };
    const response = await fetch(`http://127.0.0.1:${this.apiPort}/metrics`, { headers });
    if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
    return response.text();
  }

  /** Returns the text that marks the processes of this platform's sandboxes. */
  async sandboxToken(): Promise<string> {
    this.#place ??= await realpath(this.dataDir);
    return createHash('sha256').update(this.#place).digest('hex').slice(0, 16);
  }

  /** Lists this platform's network namespaces and links on the machine. */
  async networks(): Promise<string[]> {
    const prefix = namePrefix(await this.sandboxToken());
    const folders = ['/run/netns', '/sys/class/net'].map((folder) => readdir(folder).catch(() => []));
    const names = new Set((await Promise.all(folders)).flat());
    return [...names].filter((name) => name.startsWith(prefix)).sort();
  }

  /** Ends all processes and removes all data. `hosted: false` leaves applications on machines that are destroyed. */
  async stop({ hosted = true } = {}): Promise<void> {
    if (hosted) await this.#stopServices();
    for (const process of [...this.processes].reverse()) await process.stop();
    await this.redis?.stop();
    await this.database.drop();
    for (const repository of this.#repositories) await repository.remove();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  async #stopServices(): Promise<void> {
    if (this.workers.length === 0) return;
    const { db } = this.database;
    // The sweep would start replicas of a live service again.
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
    const args = [...(FLAGS.get(name) ?? []), join(dist, main)];
    const [file, all] = commandOf(this.user, process.execPath, args);
    const spawned = new PlatformProcess(name, file, all, { ...this.env, ...env }, this.detached);
    this.processes.push(spawned);
    return spawned;
  }
}

const FLAGS: ReadonlyMap<string, readonly string[]> = new Map(
  parseProcfile(readFileSync(join(DIST, '../Procfile'), 'utf8')).map(({ name, command }) => [
    name,
    command.split(' ').filter((word) => word.startsWith('--')),
  ]),
);

/** Starts a platform with a workspace, its owner and a write key. Stop it in `after`. */
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
      // The launcher sets these too.
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

/** Starts a platform before a suite's first test, and stops it after the last. Calls `given` before the tests. */
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

/** Returns the environment of the test run, without settings that would change a platform. */
function inherited(): Record<string, string> {
  const names =
    'PATH HOME LANG NODE_EXTRA_CA_CERTS SSL_CERT_FILE HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry NETWORK NODE_COMPILE_CACHE';
  return Object.fromEntries(names.split(' ').flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

async function seed({ db }: TestDatabase): Promise<{ workspace: string; key: string }> {
  const email = 'owner@example.test';
  await makeUser(db, { email });
  return makeTenant(db, 'Test', email);
}

async function makeTenant(db: Db, name: string, owner: string): Promise<{ workspace: string; key: string }> {
  const { workspace } = await db.transaction((trx) => createWorkspace(trx, { name, owner }));
  const key = { workspaceId: workspace.id, email: owner, scope: 'write' as const, name: 'test', expiresAt: null };
  return { workspace: workspace.id, key: (await createKey(db, key)).key };
}

/** Creates another workspace on the platform. Returns a client of its owner. */
export async function newTenant({ database, client }: Platform, name: string, owner: string): Promise<ApiClient> {
  const { workspace, key } = await makeTenant(database.db, name, owner);
  return new ApiClient(client.baseUrl, workspace, key);
}

/** Runs the same tests with each queue engine. Those with Redis are skipped if Redis is not installed. */
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
