import { readdir, statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { type Config, type Environment, loadConfig, loadDatabaseSettings } from '../core/config.js';
import { createDatabase, rowsOf } from '../core/database/database-client.js';
import { errorMessage } from '../core/error-registry.js';
import { exists, readIfThere } from '../core/exists.js';
import { resultOf } from '../core/run-limited.js';
import { listenError } from '../launcher/assert-ports-free.js';
import { embeddedUrl } from '../launcher/postgres-address.js';
import { onlineWorkers } from '../workers/store.js';
import type { HostFacts, PlatformFacts } from './check-host.js';

const READY_TIMEOUT_MS = 5_000;
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Collects facts about this host, and about the platform on it. Throws `ConfigError` if settings are invalid. */
export async function readFacts(settings: Environment = process.env): Promise<HostFacts> {
  const { databaseUrl, dataDir } = loadDatabaseSettings(settings);
  const url = databaseUrl ?? (await embeddedUrl(dataDir));
  const config = loadConfig({
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
    ...settings,
    DATABASE_URL: url ?? 'postgres://none',
  });
  const ports = [
    { setting: 'PORT', port: config.port },
    ...(config.edge === 'node' ? [{ setting: 'EDGE_PORT', port: config.edgePort }] : []),
  ];
  return {
    isRoot: process.getuid?.() === 0,
    isLinux: process.platform === 'linux',
    installer: await installer(),
    programs: await programsInPath(),
    hasControlGroups: /^cgroup2? /m.test((await readIfThere('/proc/mounts')) ?? ''),
    dataDir,
    disk: await diskOf(dataDir),
    memoryBytes: totalmem(),
    ports: await Promise.all(ports.map(async (port) => ({ ...port, isTaken: await isTaken(port.port) }))),
    isClockSynchronized: await clockState(),
    platform: url === null ? null : await platformFacts(url, config),
  };
}

async function installer(): Promise<HostFacts['installer']> {
  if (await exists('/usr/bin/apt-get')) return 'apt-get install';
  return (await exists('/usr/bin/dnf')) ? 'dnf install' : null;
}

/** The PATH of a user often lacks the folders of system programs such as nft. */
async function programsInPath(): Promise<string[]> {
  const folders = new Set([...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]);
  return (await Promise.all([...folders].map((folder) => readdir(folder).catch(() => [])))).flat();
}

async function diskOf(dataDir: string): Promise<HostFacts['disk']> {
  let folder = dataDir;
  while (!(await exists(folder)) && folder !== dirname(folder)) folder = dirname(folder);
  const found = await statfs(folder).catch(() => null);
  // File systems without a fixed number of inodes report a total of 0.
  return found === null
    ? null
    : { freeBytes: found.bavail * found.bsize, freeInodes: found.files === 0 ? Number.MAX_SAFE_INTEGER : found.ffree };
}

async function isTaken(port: number): Promise<boolean> {
  return (await listenError(port)) === 'EADDRINUSE';
}

async function clockState(): Promise<boolean | null> {
  const { code, stdout } = await resultOf('timedatectl', ['show', '--property=NTPSynchronized', '--value']);
  return code === 0 ? stdout.trim() === 'yes' : null;
}

async function platformFacts(url: string, config: Config): Promise<PlatformFacts | { problem: string }> {
  const db = createDatabase({ url, name: 'ranvier-doctor', poolSize: 1 });
  try {
    const asked = Date.now();
    const [row] = await rowsOf<{ now: Date }>(db, 'select clock_timestamp() as now');
    const midway = (asked + Date.now()) / 2;
    const workers = await onlineWorkers(db);
    const ready = await fetch(`http://127.0.0.1:${config.port}/readyz`, {
      signal: AbortSignal.timeout(READY_TIMEOUT_MS),
    }).catch(() => null);
    return {
      isReady: ready?.ok === true,
      onlineWorkers: workers.length,
      clockAheadMs: row === undefined ? 0 : midway - row.now.getTime(),
    };
  } catch (error) {
    return { problem: `the database does not answer: ${errorMessage(error)}` };
  } finally {
    await db.destroy();
  }
}
