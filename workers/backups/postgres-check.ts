import { randomBytes } from 'node:crypto';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { errorMessage } from '../../shared/core/error-registry.js';
import { quote } from '../core/quote.js';
import { DATA } from '../data/data-host.js';
import { withSession } from '../data/server-session.js';
import { BackupError } from '../failures/explained-errors.js';
import { TenantFileError, type TenantFolder } from '../volumes/tenant-folder.js';
import { type Adoption, adoptPostgres } from './adopt-postgres.js';
import type { Manifest } from './backup-archive.js';
import { type FreshServer, withFreshServer } from './fresh-server.js';
import type { PostgresFacts } from './postgres-source.js';

export interface PostgresFigures {
  databases: number;
  tables: number;
  rows: number;
  indexes: number;
}

const HBA = 'check_hba.conf';
const SOCKET = '.s.PGSQL.5432';
/** The first version of PostgreSQL that can verify heaps, and the first with a setting that disables event triggers. */
const VERIFIES_HEAPS = 14;
const SWITCHES_EVENT_TRIGGERS = 17;
/** The class of the error codes that a server sends while it starts, recovers or shuts down. */
const NOT_READY = '57';

/**
 * Proves that an unpacked backup is complete. Throws a `BackupError`. A copy without its label file also opens and
 * responds to queries, but has lost rows. So every page is read with its checksum, and every heap and B-tree is
 * verified. The session is a superuser's, so it must not call anything that the owner of a database has created. Even
 * the planner of "select count(*)" calls functions of indexes, so tables are read with functions that scan pages.
 */
export async function checkPostgres(
  server: Omit<FreshServer, 'command'>,
  manifest: Manifest,
  { durable, adopt = null }: { durable: boolean; adopt?: Adoption | null },
): Promise<PostgresFigures> {
  const facts = manifest.facts as PostgresFacts;
  const version = Number.parseInt(manifest.version, 10);
  const data = join(server.folder, DATA);
  for (const name of ['backup_label', 'PG_VERSION', 'global/pg_control', ...facts.segments.map((s) => `pg_wal/${s}`)]) {
    await access(join(data, name)).catch(() => {
      throw new BackupError(`the copy is not whole: ${name} is missing`);
    });
  }
  if (facts.segments.length === 0) throw new BackupError('the copy is not whole: it has no write-ahead log');
  await writeFile(join(server.folder, HBA), 'local all all trust\n', { mode: 0o644 });
  const command = ({ data: inside, sockets }: { data: string; sockets: string }) => {
    const settings = {
      ...SETTINGS,
      fsync: durable ? 'on' : 'off',
      ...(version >= SWITCHES_EVENT_TRIGGERS ? { event_triggers: 'off' } : {}),
      hba_file: `${inside}/../${HBA}`,
      unix_socket_directories: sockets,
    };
    const options = Object.entries(settings).map(([name, value]) => `-c ${quote(`${name}=${value}`)}`);
    return `postgres -D ${quote(inside)} ${options.join(' ')}`;
  };
  type Work<T> = (client: pg.Client) => Promise<T>;
  const inSession = <T>(sockets: TenantFolder, signal: AbortSignal, database: string, work: Work<T>) =>
    sockets.withSocket(SOCKET, (path) => withSession({ path, user: facts.user, database }, { signal }, work));
  return withFreshServer(
    { ...server, command },
    (sockets, signal) => accepts((recovers) => inSession(sockets, signal, 'postgres', recovers)),
    async (sockets, signal) => {
      const figures: PostgresFigures = { databases: 0, tables: 0, rows: 0, indexes: 0 };
      for (const database of facts.databases) {
        await inSession(sockets, signal, database, (client) => checkDatabase(client, figures)).catch((error) => {
          signal.throwIfAborted();
          throw new BackupError(`the copy of the database ${database} is damaged: ${errorMessage(error)}`);
        });
      }
      if (adopt !== null) await inSession(sockets, signal, 'postgres', (client) => adoptPostgres(client, adopt));
      await rm(join(server.folder, HBA), { force: true });
      return figures;
    },
  );
}

/** Overrides the backup's own configuration: only the socket is open, no library is loaded, nothing is archived. */
const SETTINGS = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  archive_mode: 'off',
  shared_preload_libraries: '',
  session_preload_libraries: '',
  ssl: 'off',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_line_prefix: '',
  log_min_error_statement: 'panic',
  max_connections: '10',
  superuser_reserved_connections: '3',
  shared_buffers: '64MB',
  maintenance_work_mem: '64MB',
  max_parallel_workers: '0',
  max_wal_senders: '0',
  autovacuum: 'off',
  jit: 'off',
  dynamic_shared_memory_type: 'mmap',
};

async function accepts(ask: (work: (client: pg.Client) => Promise<boolean>) => Promise<boolean>): Promise<boolean> {
  try {
    return await ask(async (client) => {
      const { rows } = await client.query('select pg_is_in_recovery() as recovers');
      return rows[0]?.recovers === false;
    });
  } catch (error) {
    if (error instanceof TenantFileError) throw error;
    const code = (error as { code?: string }).code ?? '';
    if (code.startsWith(NOT_READY) || ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes(code)) return false;
    throw new BackupError(`a fresh server does not open it: ${errorMessage(error)}`);
  }
}

/** Checks one database. Runs in one transaction that is rolled back, so that the data does not change. */
async function checkDatabase(client: pg.Client, figures: PostgresFigures): Promise<void> {
  const { rows } = await client.query(`select current_setting('data_checksums') as checksums,
    current_setting('server_version_num')::int as version`);
  const { checksums, version } = rows[0] as { checksums: string; version: number };
  if (checksums !== 'on') throw new BackupError('its pages have no checksums, so that damage cannot be found');
  await client.query('begin');
  const schema = `ranvier_${randomBytes(8).toString('hex')}`;
  await client.query(`create schema ${schema}`);
  for (const extension of ['amcheck', 'pgstattuple'])
    await client.query(`create extension ${extension} schema ${schema}`);
  for (const { oid, name, own } of await list<{ oid: string; name: string; own: boolean }>(client, HEAPS)) {
    const verifies = version >= VERIFIES_HEAPS * 10_000;
    // Before version 14, `pgstattuple` checks the pages of all tables, because heaps cannot be verified.
    if (own || !verifies) {
      const sql = `select tuple_count as rows from ${schema}.pgstattuple($1::oid::regclass)`;
      const { rows: counted } = await client.query(sql, [oid]);
      if (own) figures.tables += 1;
      if (own) figures.rows += Number(counted[0]?.rows ?? 0);
    }
    if (verifies) await verifyHeap(client, schema, oid, name);
  }
  for (const { oid, name, plain } of await list<{ oid: string; name: string; plain: boolean }>(client, B_TREES)) {
    const sql = `select ${schema}.bt_index_check($1::oid::regclass, $2)`;
    await client.query(sql, [oid, plain]).catch((error: unknown) => {
      throw new Error(`the index ${name}: ${errorMessage(error)}`);
    });
    figures.indexes += 1;
  }
  await client.query('rollback');
  figures.databases += 1;
}

async function verifyHeap(client: pg.Client, schema: string, oid: string, name: string): Promise<void> {
  const { rows } = await client.query(
    `select blkno, offnum, msg from ${schema}.verify_heapam($1::oid::regclass, true, true) limit 1`,
    [oid],
  );
  const [found] = rows as { blkno: string; offnum: number; msg: string }[];
  if (found) throw new Error(`the table ${name}, block ${found.blkno}, row ${found.offnum}: ${found.msg}`);
}

async function list<T>(client: pg.Client, sql: string): Promise<T[]> {
  return (await client.query(sql)).rows as T[];
}

/** Selects tables, materialized views and their TOAST tables. Temporary tables are left out. */
const HEAPS = `select c.oid, format('%I.%I', n.nspname, c.relname) as name,
    c.relkind <> 't' and n.nspname not in ('pg_catalog', 'information_schema') as own
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_am a on a.oid = c.relam
 where c.relkind in ('r', 't', 'm') and c.relpersistence <> 't' and a.amname = 'heap' order by c.oid`;

/**
 * Selects B-trees. `plain` is false for an index that has expressions or a condition, because comparing such an index
 * with its table would call the tenant's functions.
 */
const B_TREES = `select c.oid, format('%I.%I', n.nspname, c.relname) as name, i.indexprs is null and i.indpred is null as plain
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
  join pg_am a on a.oid = c.relam
 where a.amname = 'btree' and c.relkind = 'i' and c.relpersistence <> 't' and i.indisvalid and i.indisready order by c.oid`;
