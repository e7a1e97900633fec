import '../core/node-version.js';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { delimiter, dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError, loadConfig, loadDatabaseSettings, serviceUrl } from '../core/config.js';
import { createDatabase } from '../core/database/database-client.js';
import { migrate } from '../core/database/migrate.js';
import { errorMessage } from '../core/error-registry.js';
import { createLogger, type Logger } from '../core/log.js';
import { Lifecycle } from '../core/process-lifecycle.js';
import { mapStackTraces } from '../core/stack-traces.js';
import { createSignInLink } from '../identity/sign-in.js';
import { migrateQueues } from '../queues/bull-pool.js';
import { Keyring } from '../secrets/keyring.js';
import { assertKeysFit } from '../secrets/rotate-secrets.js';
import { assertCaddyListens } from './assert-caddy-listens.js';
import { assertPortsFree } from './assert-ports-free.js';
import { startConsoleBuild } from './console-build.js';
import { type Credentials, ensureCredentials } from './credentials.js';
import { takeLock } from './data-dir-lock.js';
import { endLeftovers, labelOf } from './leftover-processes.js';
import { startPostgres } from './postgres.js';
import { writePrivately } from './private-file.js';
import { parseProcfile, SupervisedProcess } from './procfile.js';
import { readSecretsKey, secretsKeyFile } from './secrets-key.js';

/** Runs the whole platform on one machine (`npm start`). The optional argument is the path of another Procfile. */

const PACKAGE_PROCFILE = fileURLToPath(new URL('../../../Procfile', import.meta.url));
/** Longer than the 30 s after which a process of the platform gives up its shutdown and exits. */
const CHILD_GRACE_SECONDS = 35;
const ORPHAN_SECONDS = 3;
const DEADLINE_MS = 60_000;
const READY_POLL_INTERVAL_MS = 100;
const READY_ANSWER_MS = 10_000;
const PARENT_POLL_INTERVAL_MS = 500;
const ANY_ADDRESS = ['0.0.0.0', '::'];

async function launch(procfile: string, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const lines = parseProcfile(await readFile(procfile, 'utf8'));
  const { databaseUrl, dataDir } = loadDatabaseSettings();
  await mkdir(dataDir, { recursive: true });
  // Hosted applications run as other users and need access to subfolders. Files that they must not read have mode 0600.
  await chmod(dataDir, 0o711);
  lifecycle.onEnd('lock', await takeLock(dataDir));
  const label = await labelOf(dataDir);
  await endLeftovers(label, log);

  const settings: NodeJS.ProcessEnv = {
    ALLOW_LOCAL_REPOSITORIES: 'true',
    ...process.env,
    DATA_DIR: dataDir,
    SECRETS_KEY: process.env.SECRETS_KEY || (await keptSecretsKey(dataDir)),
  };
  // Reports all problems with the settings before anything starts. An embedded database has no URL at that time.
  const config = loadConfig({ ...settings, DATABASE_URL: databaseUrl ?? 'postgres://embedded' });
  log.level = config.logLevel;
  await assertPortsFree([
    { variable: 'PORT', port: config.port },
    ...(config.edge === 'node' ? [{ variable: 'EDGE_PORT', port: config.edgePort }] : []),
  ]);
  if (config.edge === 'caddy') await assertCaddyListens(config.caddyAdminUrl);

  // The build takes seconds after an upgrade. It runs while the database starts, and nothing waits for it.
  lifecycle.onEnd('console', await startConsoleBuild({ label, log }));
  const url = databaseUrl ?? (await startEmbedded(dataDir, log, lifecycle));
  const { credentials, created, linkToken } = await prepareDatabase(url, config);
  const env = {
    // Otherwise glibc keeps freed memory separately for each thread: 5 MiB in an edge.
    MALLOC_ARENA_MAX: '2',
    // Otherwise the process keeps the memory of large buffers: 35 MiB in a worker that stored long log lines.
    MALLOC_MMAP_THRESHOLD_: '131072',
    DASHBOARD_USER: credentials.email,
    DASHBOARD_PASSWORD: credentials.password,
    ...settings,
    // Makes `node` in the Procfile the Node.js of this process, even if npm has not added it to the PATH.
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    DATABASE_URL: url,
  };
  const width = Math.max(...lines.map(({ name }) => name.length));
  const processes = lines.map(
    (line) =>
      new SupervisedProcess(line, {
        env,
        cwd: dirname(procfile),
        log,
        label,
        graceSeconds: CHILD_GRACE_SECONDS,
        orphanSeconds: ORPHAN_SECONDS,
        write: (name, text) => process.stdout.write(`${name.padEnd(width)} | ${text}\n`),
        onGivenUp: (error) => fail(log, lifecycle, error),
      }),
  );
  lifecycle.onEnd('processes', () => Promise.all(processes.map((child) => child.stop())));
  if (lifecycle.ending) return;
  for (const child of processes) child.start();
  if (await becameReady(config, lifecycle)) {
    process.stdout.write(summary(credentials, created, linkToken, config));
  }
}

async function keptSecretsKey(dataDir: string): Promise<string> {
  const kept = await readSecretsKey(dataDir);
  if (kept !== null) return kept;
  const key = randomBytes(32).toString('base64');
  await writePrivately(secretsKeyFile(dataDir), `${key}\n`);
  return key;
}

async function startEmbedded(dataDir: string, log: Logger, lifecycle: Lifecycle): Promise<string> {
  const postgres = await startPostgres({ dataDir, log, onGone: (error) => fail(log, lifecycle, error) });
  lifecycle.onEnd('PostgreSQL', () => postgres.stop());
  return postgres.url;
}

async function prepareDatabase(url: string, config: Config) {
  // Idle transactions have no time limit, because this process may get no CPU time for seconds while everything starts.
  const db = createDatabase({ url, name: 'ranvier-launch', poolSize: 2, idleInTransactionMs: 0 });
  try {
    await migrate(db, url);
    await assertKeysFit(db, new Keyring(config.secretsKey, ...config.previousSecretsKeys));
    if (config.redisUrl === null) await migrateQueues(url);
    const { credentials, created } = await ensureCredentials(db, config);
    return { credentials, created, linkToken: await createSignInLink(db, credentials.email) };
  } finally {
    await db.destroy();
  }
}

async function becameReady({ apiAddress, port }: Config, lifecycle: Lifecycle): Promise<boolean> {
  const host = apiAddress === null || ANY_ADDRESS.includes(apiAddress) ? '127.0.0.1' : apiAddress;
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/readyz`;
  while (!lifecycle.ending) {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_ANSWER_MS) }).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok) return true;
    await delay(READY_POLL_INTERVAL_MS);
  }
  return false;
}

function summary(credentials: Credentials, created: boolean, linkToken: string, config: Config): string {
  const file = relative(process.cwd(), join(config.dataDir, 'credentials.json'));
  const secret = (value: string) => (created ? value : `see ${file}`);
  const plain = config.publicUrl.startsWith('https:')
    ? ''
    : '  Browser sessions run without TLS: sign in on networks you trust only (docs/reference/sessions.md).\n\n';
  const key = created ? credentials.apiKey : '<key>';
  return `
Ranvier is ready. Open the console, signed in (once, within 15 minutes):

  ${config.publicUrl}/sign-in#${linkToken}

  API        ${credentials.baseUrl}
  Services   ${serviceUrl(config, '<service>')}${config.edge === 'caddy' ? `, by the Caddy at ${config.caddyAdminUrl}` : ''}
  Queues     ${credentials.dashboardUrl}
  Workspace  ${credentials.workspaceId}
  Owner      ${credentials.email}
  Password   ${secret(credentials.password)}
  Key        ${secret(credentials.apiKey)}

  All of this is kept in ${file}. Try:

  curl -H 'Authorization: Bearer ${key}' ${credentials.baseUrl}/workspaces/${credentials.workspaceId}

${plain}  Ctrl-C ends it.

`;
}

/**
 * When npm or `ranvier` is killed, it sends no signal. Both normally outlive this process, so a new parent process id
 * means that the parent was killed.
 */
function endWithParent(lifecycle: Lifecycle): void {
  const { npm_lifecycle_event = '', RANVIER_PARENT } = process.env;
  if (!['start', 'dev'].includes(npm_lifecycle_event) && RANVIER_PARENT === undefined) return;
  const parent = process.ppid;
  const look = () => {
    if (process.ppid !== parent) void lifecycle.end('the parent has ended', 0);
  };
  setInterval(look, PARENT_POLL_INTERVAL_MS).unref();
}

function fail(log: Logger, lifecycle: Lifecycle, error: unknown): void {
  log.fatal(error instanceof ConfigError ? error.message : `The platform cannot run: ${errorMessage(error)}`);
  void lifecycle.end('failure', 1);
}

// The reader of this output may exit before the platform does.
process.stdout.on('error', () => undefined);
mapStackTraces();
const log = createLogger('launch', 'info');
const lifecycle = new Lifecycle(log, (code) => process.exit(code), DEADLINE_MS);
lifecycle.watchSignals();
endWithParent(lifecycle);
try {
  await launch(process.argv[2] ?? PACKAGE_PROCFILE, log, lifecycle);
} catch (error) {
  fail(log, lifecycle, error);
}
