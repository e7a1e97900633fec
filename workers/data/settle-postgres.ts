import pg from 'pg';
import { openPasswords } from '../../shared/data/commands.js';
import { ADMIN_USER, type StorageState } from '../../shared/data/model.js';
import type { DataServerRow } from '../../shared/data/store.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import { databasePlanOf } from '../../shared/services/plan-catalog.js';
import { withinTime } from '../core/within-time.js';
import { withSession } from './server-session.js';

/** Maximum duration of a session of the platform's own user, in milliseconds. A worker that shuts down waits for it. */
const SESSION_MS = 15_000;

export interface AdminAddress {
  host: string;
  port: number;
  password: string;
}

/** Runs `work` in a session of the platform's own user. Rejects if the server does not respond in time. */
export async function asAdmin<T>(
  { host, port, password }: AdminAddress,
  work: (client: pg.Client) => Promise<T>,
  database = 'postgres',
): Promise<T> {
  const address = { host, port, user: ADMIN_USER, password, database };
  const tooLate = new Error(`the server did not do its work within ${SESSION_MS / 1000} s`);
  return withinTime({ ms: SESSION_MS, tooLate }, (signal) => withSession(address, { signal }, work));
}

interface WantedTenant {
  user: string;
  password: string;
  database: string;
  maxConnections: number;
  state: StorageState;
}

export function wantedTenant(keyring: Keyring, row: DataServerRow, planId: string, state: StorageState): WantedTenant {
  return {
    user: row.user_name,
    password: openPasswords(keyring, row).user,
    database: row.database_name,
    maxConnections: databasePlanOf(planId).maxConnections,
    state,
  };
}

/** Creates the tenant's user and database if they are missing, and sets the user's password and limits. */
export async function settlePostgres(admin: AdminAddress, wanted: WantedTenant): Promise<void> {
  await asAdmin(admin, async (client) => {
    // Otherwise PostgreSQL would write a failing statement, with the password, to the service's log.
    await client.query('set log_min_error_statement = panic');
    const user = pg.escapeIdentifier(wanted.user);
    const database = pg.escapeIdentifier(wanted.database);
    const rights = 'login nosuperuser nocreatedb nocreaterole noreplication nobypassrls';
    const limit = wanted.state === 'closed' ? 0 : wanted.maxConnections;
    const has = async (sql: string, name: string) => ((await client.query(sql, [name])).rowCount ?? 0) > 0;
    // From the start, the tenant's user must only be able to connect to its own database.
    await client.query('revoke connect on database postgres, template1 from public');
    const verb = (await has('select 1 from pg_roles where rolname = $1', wanted.user)) ? 'alter' : 'create';
    const password = pg.escapeLiteral(wanted.password);
    await client.query(`${verb} role ${user} ${rights} connection limit ${limit} password ${password}`);
    await client.query(
      wanted.state === 'read_only'
        ? `alter role ${user} set default_transaction_read_only = on`
        : `alter role ${user} reset default_transaction_read_only`,
    );
    if (!(await has('select 1 from pg_database where datname = $1', wanted.database))) {
      await client.query(`create database ${database} owner ${user}`);
    }
    await client.query(`revoke connect on database ${database} from public`);
    await client.query(`grant connect, temporary on database ${database} to ${user}`);
  });
}

/** Terminates the tenant's sessions, so that new settings of its user apply to all of them. */
export async function endSessions(admin: AdminAddress, user: string): Promise<void> {
  await asAdmin(admin, (client) =>
    client.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [user]),
  );
}
