import { Redis } from 'ioredis';
import pg from 'pg';
import { Sensitive } from '../../shared/core/sensitive.js';
import { openPasswords } from '../../shared/data/commands.js';
import { findDataServer } from '../../shared/data/store.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { ApiClient } from '../support/client.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';

interface Backup {
  id: string;
  status: string;
  error: string;
}

/** Takes a backup, waits for its check, and deletes it, because a service can have only ten on-demand backups. */
export async function takeBackup(client: ApiClient, serviceId: string, withinMs = 90_000): Promise<void> {
  const path = `/services/${serviceId}/backups`;
  const { backup } = await client.expect<{ backup: Backup }>('POST', path, {});
  const ended = await eventually(
    `backup ${backup.id} ends`,
    async () => {
      const { backup: now } = await client.expect<{ backup: Backup }>('GET', `${path}/${backup.id}`);
      return ['succeeded', 'failed'].includes(now.status) ? now : undefined;
    },
    withinMs,
  );
  if (ended.status === 'failed') throw new Error(`the backup failed: ${ended.error}`);
  await client.expect('DELETE', `${path}/${backup.id}`);
}

async function accessOf(platform: Platform, serviceId: string) {
  const { db } = platform.database;
  const row = await findDataServer(db, serviceId);
  const replica = await db('replicas').where({ service_id: serviceId, state: 'ready' }).first('address', 'port');
  if (!row || !replica) throw new Error('the database does not run');
  const { user: password } = openPasswords(new Keyring(new Sensitive(platform.env.SECRETS_KEY ?? '')), row);
  const { address: host, port } = replica;
  return { host, port, user: row.user_name, password, database: row.database_name };
}

/** Runs SQL as the owner of a database, with the rights of its applications. */
export async function asOwner(platform: Platform, serviceId: string, sql: (database: string) => string): Promise<void> {
  const access = await accessOf(platform, serviceId);
  const client = new pg.Client(access);
  await client.connect();
  try {
    await client.query(sql(access.database));
  } finally {
    await client.end();
  }
}

/** Sends commands to a Redis as its owner. Resolves to the answers, or to the names of the errors. */
export async function commandsOfOwner(platform: Platform, serviceId: string, commands: string[][]): Promise<string[]> {
  const { host, port, user: username, password } = await accessOf(platform, serviceId);
  const client = new Redis({ host, port, username, password, maxRetriesPerRequest: 1 });
  client.on('error', () => undefined);
  try {
    const answers: string[] = [];
    for (const [name = '', ...rest] of commands) {
      const answer = client.call(name, ...rest);
      answers.push(await answer.then(String, (error: Error) => error.message.split(' ')[0] ?? ''));
    }
    return answers;
  } finally {
    client.disconnect();
  }
}
