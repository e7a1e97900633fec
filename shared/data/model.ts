import { nameProblem } from '../services/database-name.js';
import type { DataKind } from '../services/model.js';
import { databasePlanOf } from '../services/plan-catalog.js';

/** The keys that a reference to a database may name. */
export const OFFERED_KEYS: Readonly<Record<DataKind, readonly string[]>> = {
  postgres: ['HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE', 'URL'],
  redis: ['HOST', 'PORT', 'USER', 'PASSWORD', 'URL'],
};

/** A variable whose value is read from a database when a release starts. */
export interface DataReference {
  serviceId: string;
  key: string;
}

/** Returns the port of a server in its own network. */
export function portOf(kind: DataKind): number {
  return kind === 'postgres' ? 5432 : 6379;
}

/** The platform's own user of a server; tenants never get its password. */
export const ADMIN_USER = 'ranvier_admin';
/** The tenant's user of a redis server. A client that sends only a password is this user. */
const REDIS_USER = 'default';
/** The longest name that PostgreSQL does not truncate, in bytes. */
const MAX_NAME_LENGTH = 63;

/** Returns the default name of a database: the service's slug in PostgreSQL's characters. */
export function derivedName(slug: string): string {
  const plain = slug.replace(/[^a-z0-9]/g, '_');
  const name = /^[a-z_]/.test(plain) && nameProblem(plain) === null ? plain : `db_${plain}`;
  return name.slice(0, MAX_NAME_LENGTH);
}

/** The fields of a service's configuration that concern its server. */
export interface WantedServer {
  databaseName: string;
  databaseUser: string;
  databaseVersion: string;
}

/** Returns the names and the version that a service's server gets when it is made. */
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

/** Returns the value of one offered key, such as `URL`; undefined if this kind of server lacks it. */
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

/** Returns how many bytes of data a plan allows. The write-ahead log has a separate bound. */
export function storageBytes(planId: string): number {
  return databasePlanOf(planId).storageGb * GIGABYTE;
}

/** Connections that a server allows beyond the plan's, for the platform itself. */
const OWN_SESSIONS = 5;

/**
 * Returns PostgreSQL's settings for a plan, as arguments of its command line.
 * Neither a tenant's `alter system` nor a configuration file in the volume can override arguments. Memory sizes follow
 * PostgreSQL's usual advice. The write-ahead log is bounded, because it could otherwise fill the disk.
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

/** Returns how many bytes of data a redis server may hold. A rewrite of its file may need as much memory again. */
export function redisMemoryBytes(planId: string): number {
  return Math.floor(databasePlanOf(planId).memoryMb * 0.45) * MEGABYTE;
}

/**
 * The commands that the tenant of a redis server may use: all but those that change or stop the server. Checked against
 * a real server: no CONFIG SET, SHUTDOWN, ACL, DEBUG, REPLICAOF.
 */
const REDIS_RIGHTS =
  '~* &* +@all -@admin -@dangerous +info +keys +sort +flushdb +flushall +config|get +client|setname +client|id +client|list';

export interface RedisSettings {
  planId: string;
  evictionPolicy: string;
  folder: string;
  port: number;
  /** The addresses on which the server listens. */
  bind: string;
  /** SHA-256 of the passwords, in hexadecimal. */
  passwordHash: string;
  adminHash: string;
}

/**
 * Returns the text of redis.conf.
 * The append-only file is rewritten early enough that it never exceeds the plan's disk (measured: at most 3.5 times the
 * memory).
 */
export function redisConfiguration(settings: RedisSettings): string {
  const memory = redisMemoryBytes(settings.planId);
  return [
    `bind ${settings.bind}`,
    `port ${settings.port}`,
    'protected-mode no',
    'daemonize no',
    // A title would overwrite the process's environment, and with it the mark that the platform sets there.
    'set-proc-title no',
    'logfile ""',
    `dir "${settings.folder.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`,
    `maxmemory ${memory}`,
    `maxmemory-policy ${settings.evictionPolicy}`,
    `maxclients ${databasePlanOf(settings.planId).maxConnections + OWN_SESSIONS}`,
    'save ""',
    // A backup requests the snapshot as a Redis replica does. It needs the size first; diskless replication omits it.
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

/**
 * How the storage bound is enforced: not at all, new transactions are read-only by default, or no connection is
 * accepted.
 */
export type StorageState = 'open' | 'read_only' | 'closed';

/** From this share of the storage on, new transactions are read-only by default. */
const READ_ONLY_SHARE = 0.9;
/** A restriction ends only when usage is below this share of its threshold. Otherwise the state would flap. */
const LIFT_SHARE = 0.97;

/**
 * Decides how the storage bound is enforced. Depends on the state `before`, so that it does not change with each byte.
 */
export function storageState(usedBytes: number, boundBytes: number, before: StorageState): StorageState {
  const closedAt = boundBytes * (before === 'closed' ? LIFT_SHARE : 1);
  const readOnlyAt = boundBytes * READ_ONLY_SHARE * (before === 'open' ? 1 : LIFT_SHARE);
  if (usedBytes >= closedAt) return 'closed';
  return usedBytes >= readOnlyAt ? 'read_only' : 'open';
}

/** What the volume of a service looks like on its host. */
export interface ObservedVolume {
  /** True if PostgreSQL records that the volume has its data. */
  initialized: boolean;
  /** The id of the service in the volume's marker; null if there is no marker. */
  marker: string | null;
  /** True if the data folder exists and has content. */
  hasData: boolean;
  /** The major version that wrote the data; null if unknown. */
  dataVersion: string | null;
}

export type VolumeDecision =
  | { type: 'initialize' }
  | { type: 'start' }
  /** The server must not start. `reason` follows "The server is not started: ". */
  | { type: 'refuse'; reason: string };

/**
 * Decides what happens to a volume before its server starts.
 * Data is created once in a service's life. A volume that should have data and has none (an unmounted disk, a moved
 * folder) is never filled again.
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
