import { nameProblem } from '../services/database-name.js';
import type { DataKind } from '../services/model.js';
import { databasePlanOf } from '../services/plan-catalog.js';

/** Kind of database → the names of its values to which a service's variables can refer. */
export const OFFERED_KEYS: Readonly<Record<DataKind, readonly string[]>> = {
  postgres: ['HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE', 'URL'],
  redis: ['HOST', 'PORT', 'USER', 'PASSWORD', 'URL'],
};

/** A variable's reference to a value of a database, such as its URL. It is resolved when a release starts. */
export interface DataReference {
  serviceId: string;
  key: string;
}

/** Returns the port of a database server in its private network. */
export function portOf(kind: DataKind): number {
  return kind === 'postgres' ? 5432 : 6379;
}

/** The platform's own user on a database server. Tenants never get its password. */
export const ADMIN_USER = 'ranvier_admin';
/** The tenant's user on a Redis server. A client that sends only a password is authenticated as this user. */
const REDIS_USER = 'default';
/** PostgreSQL truncates longer names. */
const MAX_NAME_LENGTH = 63;

/** Returns the default name of a database: the service's slug, in characters that PostgreSQL accepts. */
export function derivedName(slug: string): string {
  const plain = slug.replace(/[^a-z0-9]/g, '_');
  const name = /^[a-z_]/.test(plain) && nameProblem(plain) === null ? plain : `db_${plain}`;
  return name.slice(0, MAX_NAME_LENGTH);
}

export interface WantedServer {
  databaseName: string;
  databaseUser: string;
  databaseVersion: string;
}

/** Returns the database name, user name and version for a new database server. */
export function serverNames(
  kind: DataKind,
  slug: string,
  { databaseName, databaseUser, databaseVersion }: WantedServer,
): { version: string; database: string; user: string } {
  if (kind === 'redis') return { version: '', database: '', user: REDIS_USER };
  const database = databaseName || derivedName(slug);
  return { version: databaseVersion, database, user: databaseUser || database };
}

export interface OfferedServer {
  kind: DataKind;
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

/** Returns the value of a key from `OFFERED_KEYS`; undefined if this kind of database does not have it. */
export function offeredValue(
  { kind, host, port, user, password, database }: OfferedServer,
  key: string,
): string | undefined {
  if (!OFFERED_KEYS[kind].includes(key)) return undefined;
  const name = encodeURIComponent(user);
  const secret = encodeURIComponent(password);
  const urls: Record<DataKind, string> = {
    postgres: `postgresql://${name}:${secret}@${host}:${port}/${encodeURIComponent(database)}`,
    redis: `redis://${name}:${secret}@${host}:${port}`,
  };
  const values: Record<string, string> = {
    HOST: host,
    PORT: String(port),
    USER: user,
    PASSWORD: password,
    DATABASE: database,
    URL: urls[kind],
  };
  return values[key];
}

const MEGABYTE = 1024 * 1024;
const GIGABYTE = 1024 * MEGABYTE;

/** Returns the maximum size of the data under a plan, in bytes. The write-ahead log has a separate limit. */
export function storageBytes(planId: string): number {
  return databasePlanOf(planId).storageGb * GIGABYTE;
}

/** Number of connections that a database server accepts for the platform itself, in addition to the plan's maximum. */
const OWN_SESSIONS = 5;

/**
 * Returns the PostgreSQL settings for a plan. They are passed as arguments, so `alter system` cannot override them. The
 * size of the write-ahead log is limited, because it could otherwise fill the disk.
 */
export function postgresSettings(planId: string): Record<string, string> {
  const { memoryMb, maxConnections, storageGb } = databasePlanOf(planId);
  const walMb = Math.min(1024, Math.max(128, Math.floor((storageGb * 1024) / 8)));
  return {
    max_connections: String(maxConnections + OWN_SESSIONS),
    superuser_reserved_connections: '3',
    shared_buffers: `${Math.floor(memoryMb / 4)}MB`,
    effective_cache_size: `${Math.floor(memoryMb / 2)}MB`,
    maintenance_work_mem: `${Math.max(16, Math.floor(memoryMb / 16))}MB`,
    work_mem: `${Math.max(1, Math.floor(memoryMb / 4 / maxConnections))}MB`,
    max_wal_size: `${walMb}MB`,
    min_wal_size: '80MB',
    max_slot_wal_keep_size: `${3 * walMb}MB`,
    wal_level: 'replica',
    max_wal_senders: '4',
    max_replication_slots: '4',
    password_encryption: 'scram-sha-256',
    unix_socket_directories: '',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_line_prefix: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
}

/** Returns the maximum size of Redis data, in bytes. Rewriting the append-only file may take as much memory again. */
export function redisMemoryBytes(planId: string): number {
  return Math.floor(databasePlanOf(planId).memoryMb * 0.45) * MEGABYTE;
}

/**
 * Commands that reconfigure or stop the server are excluded. A test with a real server showed that CONFIG SET,
 * SHUTDOWN, ACL, DEBUG and REPLICAOF are denied.
 */
const REDIS_RIGHTS =
  '~* &* +@all -@admin -@dangerous +info +keys +sort +flushdb +flushall +config|get +client|setname +client|id +client|list';

export interface RedisSettings {
  planId: string;
  evictionPolicy: string;
  folder: string;
  port: number;
  bind: string;
  /** SHA-256 of the tenant's password, in hexadecimal. `adminHash` is the same for the platform's password. */
  passwordHash: string;
  adminHash: string;
}

/** Returns the text of redis.conf. */
export function redisConfiguration(settings: RedisSettings): string {
  const memory = redisMemoryBytes(settings.planId);
  return [
    `bind ${settings.bind}`,
    `port ${settings.port}`,
    'protected-mode no',
    'daemonize no',
    // Otherwise Redis would overwrite its environment variables with its process title. The platform recognizes its own
    // processes by one of these variables (`process-table.ts`).
    'set-proc-title no',
    'logfile ""',
    `dir "${settings.folder.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
    `maxmemory ${memory}`,
    `maxmemory-policy ${settings.evictionPolicy}`,
    `maxclients ${databasePlanOf(settings.planId).maxConnections + OWN_SESSIONS}`,
    'save ""',
    // A backup reads the data like a Redis replica, and needs its size before the data. Diskless replication does not
    // send the size.
    'repl-diskless-sync no',
    'appendonly yes',
    'appendfsync everysec',
    'aof-load-truncated yes',
    'auto-aof-rewrite-percentage 50',
    `auto-aof-rewrite-min-size ${Math.floor(memory / 2)}`,
    `user ${REDIS_USER} on #${settings.passwordHash} ${REDIS_RIGHTS}`,
    `user ${ADMIN_USER} on #${settings.adminHash} ~* &* +@all`,
    '',
  ].join('\n');
}

/** `read_only`: new transactions are read-only by default. `closed`: connections are rejected. */
export type StorageState = 'open' | 'read_only' | 'closed';

/** Share of the storage limit from which new transactions are read-only by default. */
const READ_ONLY_SHARE = 0.9;
/** A restriction ends below this share of the threshold at which it began, so that it does not start again at once. */
const LIFT_SHARE = 0.97;

/**
 * Decides how the storage limit is enforced. A restriction in `before` ends only below `LIFT_SHARE` of its threshold.
 */
export function storageState(usedBytes: number, boundBytes: number, before: StorageState): StorageState {
  const closedAt = boundBytes * (before === 'closed' ? LIFT_SHARE : 1);
  const readOnlyAt = boundBytes * READ_ONLY_SHARE * (before === 'open' ? 1 : LIFT_SHARE);
  if (usedBytes >= closedAt) return 'closed';
  return usedBytes >= readOnlyAt ? 'read_only' : 'open';
}

export interface ObservedVolume {
  /** True if the platform's database records that the volume was initialized. */
  initialized: boolean;
  /** Id of the service in the volume's marker file; null if there is no marker. */
  marker: string | null;
  hasData: boolean;
  /** The major version of the database server that wrote the data; null if unknown. */
  dataVersion: string | null;
}

export type VolumeDecision =
  | { type: 'initialize' }
  | { type: 'start' }
  /** The server must not start. `reason` continues the sentence "The server is not started: ". */
  | { type: 'refuse'; reason: string };

/**
 * Decides what to do with a volume before its database server starts. Refuses an initialized volume without data: its
 * disk may not be mounted, or its folder was moved.
 */
export function decideVolume(
  { initialized, marker, hasData, dataVersion }: ObservedVolume,
  { serviceId, version }: { serviceId: string; version: string },
): VolumeDecision {
  if (marker !== null && marker !== serviceId) {
    return { type: 'refuse', reason: `its volume belongs to another service (${marker})` };
  }
  if (!initialized && marker === null) return { type: 'initialize' };
  if (marker === null) {
    return { type: 'refuse', reason: 'its volume has no marker; is the disk mounted, or was the folder moved?' };
  }
  if (!hasData) return { type: 'refuse', reason: 'its volume has no data; restore a backup, or bring the folder back' };
  if (version !== '' && dataVersion !== null && dataVersion !== version) {
    return {
      type: 'refuse',
      reason: `its data was written by version ${dataVersion}, and the service is of version ${version}`,
    };
  }
  return { type: 'start' };
}
