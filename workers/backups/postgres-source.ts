import type pg from 'pg';
import { unlessAbsent } from '../../shared/core/exists.js';
import type { DataServer } from '../data/server-access.js';
import { withSession } from '../data/server-session.js';
import { BackupError } from '../failures/explained-errors.js';
import type { ArchiveWriter } from './backup-archive.js';
import { FilesThroughServer, localFiles, type ServerFiles } from './server-files.js';

export interface PostgresFacts {
  /** The WAL segments that recovery needs. */
  segments: string[];
  databases: string[];
  user: string;
}

/** Folders whose content is left out: PostgreSQL creates it at each start, or needs it only while it runs. */
const EMPTIED = [
  'pg_wal',
  'pg_replslot',
  'pg_stat_tmp',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_subtrans',
];
const LEFT_OUT =
  /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*|backup_label(\.old)?|tablespace_map(\.old)?)$/;
const CONTROL = 'global/pg_control';
/** Maximum number of WAL segments. No backup needs more, because a server keeps only a limited part of its WAL. */
const MAX_SEGMENTS = 100_000;

/** Copies a running PostgreSQL into an archive, as `pg_basebackup` does. */
export async function copyPostgres(
  { dataFolder, admin }: Pick<DataServer, 'dataFolder' | 'admin'>,
  archive: ArchiveWriter,
  label: string,
  signal: AbortSignal,
): Promise<PostgresFacts> {
  return withSession({ ...admin, database: 'postgres' }, { signal, name: 'ranvier backup' }, async (client) => {
    const files = dataFolder === null ? new FilesThroughServer(client) : await localFiles(dataFolder);
    return copy(client, files, admin.user, archive, label, signal).finally(() => files.close());
  });
}

async function copy(
  client: pg.Client,
  files: ServerFiles,
  user: string,
  archive: ArchiveWriter,
  label: string,
  signal: AbortSignal,
): Promise<PostgresFacts> {
  const one = async (sql: string, values: unknown[] = []): Promise<Record<string, string>> =>
    (await client.query(sql, values)).rows[0] ?? {};
  const version = Number((await one('show server_version_num')).server_version_num);
  // The session may be idle while the files are copied.
  if (version >= 140_000) await client.query('set idle_session_timeout = 0');
  const { rows } = await client.query('select datname from pg_database where datallowconn order by datname');

  // The slot retains the WAL that the backup needs, and is dropped at the end of the session.
  await one(`select pg_create_physical_replication_slot($1, true, true)`, [slotName(label)]);
  const functions = version >= 150_000 ? NEW_FUNCTIONS : OLD_FUNCTIONS;
  await one(functions.start, [label]);
  await copyFolder(archive, files, '', signal);
  await files.addNow(archive, CONTROL, signal);
  const stop = await one(functions.stop);
  const { lsn = '', labelfile = '', spcmapfile = '' } = stop;
  if (spcmapfile.trim() !== '') {
    throw new BackupError('the server has tablespaces outside of its data folder; move their tables to pg_default');
  }
  await archive.addText('backup_label', labelfile);

  const { last = '' } = await one('select pg_walfile_name($1::pg_lsn) as last', [lsn]);
  const { size = '' } = await one(`select setting as size from pg_settings where name = 'wal_segment_size'`);
  const segments = segmentsBetween(firstSegment(labelfile), last, Number(size));
  for (const segment of segments) {
    await files.addNow(archive, `pg_wal/${segment}`, signal).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new BackupError(`the server removed ${segment} of its write-ahead log before it was copied; try again`);
    });
  }
  const { status = 'lost' } = await one(
    'select wal_status as status from pg_replication_slots where slot_name = $1 and active_pid = pg_backend_pid()',
    [slotName(label)],
  );
  if (status === 'lost') {
    throw new BackupError(
      'the server wrote more than max_slot_wal_keep_size while it was copied; try again at a quieter time',
    );
  }
  return { segments, databases: rows.map(({ datname }) => String(datname)), user };
}

const NEW_FUNCTIONS = {
  start: 'select pg_backup_start($1, true)',
  stop: 'select lsn, labelfile, spcmapfile from pg_backup_stop(false)',
};
/** The SQL functions that begin and end a backup before PostgreSQL 15. */
const OLD_FUNCTIONS = {
  start: 'select pg_start_backup($1, true, false)',
  stop: 'select lsn, labelfile, spcmapfile from pg_stop_backup(false, false)',
};

function slotName(label: string): string {
  return `ranvier_${label.toLowerCase().replace(/[^a-z0-9]/g, '_')}`.slice(0, 63);
}

async function copyFolder(
  archive: ArchiveWriter,
  files: ServerFiles,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const entries = await files.list(folder).catch((error: NodeJS.ErrnoException) => {
    // A database or table may be dropped during the copy. Recovery replays that from the WAL.
    if (error.code === 'ENOENT' && folder !== '') return [];
    throw error;
  });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    signal.throwIfAborted();
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (LEFT_OUT.test(entry.name) || name === CONTROL) continue;
    if (entry.type === 'folder' || EMPTIED.includes(name)) {
      archive.addFolder(name);
      if (name === 'pg_wal') archive.addFolder('pg_wal/archive_status');
      if (!EMPTIED.includes(name)) await copyFolder(archive, files, name, signal);
    } else if (entry.type === 'file') {
      await unlessAbsent(files.add(archive, name, signal));
    } else {
      throw new BackupError(`the data folder holds ${name}, which is neither a file nor a folder`);
    }
  }
}

function firstSegment(label: string): string {
  const found = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(label)?.[1];
  if (found === undefined) throw new Error('the label of the copy names no segment');
  return found;
}

/** Returns all WAL segments from `first` to `last`, which must be on one timeline. A segment has `size` bytes. */
export function segmentsBetween(first: string, last: string, size: number): string[] {
  const perLog = 0x1_0000_0000 / size;
  const timeline = first.slice(0, 8);
  const number = (name: string) =>
    Number.parseInt(name.slice(8, 16), 16) * perLog + Number.parseInt(name.slice(16), 16);
  if (last.slice(0, 8) !== timeline || number(last) < number(first)) {
    throw new Error(`no segments lead from ${first} to ${last}`);
  }
  if (number(last) - number(first) > MAX_SEGMENTS)
    throw new BackupError('the server names too many segments of its log');
  const hex = (value: number) => value.toString(16).toUpperCase().padStart(8, '0');
  return Array.from({ length: number(last) - number(first) + 1 }, (_, i) => {
    const at = number(first) + i;
    return timeline + hex(Math.floor(at / perLog)) + hex(at % perLog);
  });
}
