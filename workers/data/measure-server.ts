import { ADMIN_USER } from '../../shared/data/model.js';
import { infoOf, openRedis } from './redis-session.js';
import { type AdminAddress, asAdmin } from './settle-postgres.js';

/** Queries PostgreSQL for the size of its data without the WAL, in bytes. */
export function postgresBytes(admin: AdminAddress): Promise<number> {
  return number(admin, `select sum(pg_tablespace_size(oid)) as bytes from pg_tablespace`);
}

export function walBytes(admin: AdminAddress): Promise<number> {
  return number(admin, 'select coalesce(sum(size), 0) as bytes from pg_ls_waldir()');
}

/** Queries redis for the size of its append-only file, in bytes. */
export async function redisBytes({ host, port, password }: AdminAddress): Promise<number> {
  const client = openRedis({ host, port, username: ADMIN_USER, password });
  try {
    await client.connect();
    return Number(infoOf(await client.info('persistence')).aof_current_size ?? 0);
  } finally {
    client.disconnect();
  }
}

async function number(admin: AdminAddress, sql: string): Promise<number> {
  const [row] = await asAdmin(admin, async (client) => (await client.query<{ bytes: string }>(sql)).rows);
  return Number(row?.bytes ?? 0);
}
