import pg from 'pg';
import { Sensitive } from '../../shared/core/sensitive.js';
import { openPasswords } from '../../shared/data/commands.js';
import { findDataServer } from '../../shared/data/store.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import type { Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';

/** Returns the address of a database and the user of its applications. */
export async function databaseAddress({ database: { db }, env }: Platform, { id }: Pick<Service, 'id'>) {
  const row = await findDataServer(db, id);
  if (!row) throw new Error('the service has no server');
  const { user: password } = openPasswords(new Keyring(new Sensitive(env.SECRETS_KEY ?? '')), row);
  const replica = await db('replicas').where({ service_id: id, state: 'ready' }).first();
  if (!replica) throw new Error('its server does not run');
  return { host: replica.address, port: replica.port, user: row.user_name, password, database: row.database_name };
}

/** Runs SQL in a database of the platform as its tenant. */
export async function runSql(
  platform: Platform,
  service: Pick<Service, 'id'>,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(await databaseAddress(platform, service));
  client.on('error', () => undefined);
  await client.connect();
  return (await client.query(text).finally(() => client.end())).rows;
}
