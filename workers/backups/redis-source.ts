import { setTimeout as delay } from 'node:timers/promises';
import { onAbort } from '../../shared/core/on-abort.js';
import type { Redis } from '../../shared/core/redis-client.js';
import { infoOf, keysOf, openRedis } from '../data/redis-session.js';
import { BackupError } from '../failures/explained-errors.js';
import { TenantFolder } from '../volumes/tenant-folder.js';
import type { ArchiveWriter } from './backup-archive.js';
import { type RedisAddress, RedisReplica } from './redis-replica.js';

export interface RedisFacts {
  /** Number of keys at the time of the snapshot, including expired keys that were not removed yet. */
  keys: number;
}

/** Name of the first part of an append-only file. The first part is a snapshot. */
const BASE = 'appendonly.aof.1.base.rdb';
/** Default name of a snapshot. The name that the server reports is not used: it could point outside the folder. */
const SNAPSHOT = 'dump.rdb';
const POLL_MS = 50;
/** The first version whose append-only file is a folder of parts. */
const PARTS_SINCE = 7;

/** Copies a snapshot of a running redis into an archive. In the archive, it replaces the append-only file. */
export async function copyRedis(
  { dataFolder, admin }: { dataFolder: string | null; admin: RedisAddress },
  archive: ArchiveWriter,
  signal: AbortSignal,
): Promise<RedisFacts> {
  const client = openRedis({ host: admin.host, port: admin.port, username: admin.user, password: admin.password });
  const forgetAbort = onAbort(signal, () => client.disconnect());
  try {
    await client.connect();
    const inParts = Number.parseInt(infoOf(await client.info('server')).redis_version ?? '', 10) >= PARTS_SINCE;
    const name = inParts ? `appendonlydir/${BASE}` : 'appendonly.aof';
    const keys =
      dataFolder === null
        ? await copySent(client, admin, archive, name, signal)
        : await copyWritten(client, dataFolder, archive, name, signal);
    if (inParts) await archive.addText('appendonlydir/appendonly.aof.manifest', `file ${BASE} seq 1 type b\n`);
    return { keys };
  } finally {
    forgetAbort();
    client.disconnect();
  }
}

async function copyWritten(
  client: Redis,
  dataFolder: string,
  archive: ArchiveWriter,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const keys = await snapshot(client, signal);
  const folder = await TenantFolder.open(dataFolder);
  try {
    await archive.addFile(name, await folder.file(SNAPSHOT), signal);
  } finally {
    await folder.remove(SNAPSHOT).finally(() => folder.close());
  }
  return keys;
}

/** Maximum time for which writes are paused, in milliseconds. The server resumes them even if this worker dies. */
const PAUSE_MS = 5_000;

/** Pauses writes, so that no key changes between the count of keys and the server's fork. */
async function copySent(
  client: Redis,
  address: RedisAddress,
  archive: ArchiveWriter,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const replica = await RedisReplica.connect(address, signal);
  try {
    await idle(client, signal);
    const before = infoOf(await client.info('stats')).total_forks;
    await client.call('CLIENT', 'PAUSE', String(PAUSE_MS), 'WRITE');
    const paused = Date.now();
    const keys = keysOf(await client.info('keyspace'));
    replica.sync();
    while (infoOf(await client.info('stats')).total_forks === before) {
      signal.throwIfAborted();
      if (Date.now() - paused > PAUSE_MS - 1_000) throw new Error('the server began no snapshot while writes paused');
      await delay(POLL_MS / 5);
    }
    await client.call('CLIENT', 'UNPAUSE');
    const size = await replica.size();
    await archive.addContent(name, size, () => replica.piece());
    return keys;
  } finally {
    replica.close();
  }
}

async function snapshot(client: Redis, signal: AbortSignal): Promise<number> {
  for (;;) {
    await idle(client, signal);
    const before = infoOf(await client.info('persistence')).rdb_saves ?? '';
    // The server reads both commands at once, so the keys are counted at the moment of the fork.
    const answers = await client.pipeline().bgsave().info('keyspace').exec();
    const [[refused] = [null], [, keyspace] = [null, '']] = answers ?? [];
    // The server may have just started another save, or a rewrite of the append-only file. Wait for it and try again.
    if (refused !== null && /in progress|another child/i.test(refused.message)) continue;
    if (refused !== null) throw refused;
    const after = await idle(client, signal);
    if (after.rdb_last_bgsave_status !== 'ok') {
      throw new BackupError(
        "the server could not write its snapshot: its volume is full, or its plan's memory is too small",
      );
    }
    // Some servers have no `rdb_saves`.
    if (after.rdb_saves !== undefined && after.rdb_saves === before) {
      throw new Error('the server wrote no snapshot');
    }
    return keysOf(String(keyspace));
  }
}

async function idle(client: Redis, signal: AbortSignal): Promise<Record<string, string>> {
  for (;;) {
    signal.throwIfAborted();
    const info = infoOf(await client.info('persistence'));
    if (info.rdb_bgsave_in_progress === '0' && info.aof_rewrite_in_progress === '0') return info;
    await delay(POLL_MS);
  }
}
