import pg from 'pg';
import type { BackupRow } from '../../shared/backups/model.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { openPasswords } from '../../shared/data/commands.js';
import { ADMIN_USER } from '../../shared/data/model.js';
import { type DataServerRow, findDataServer } from '../../shared/data/store.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { BackupError } from '../failures/explained-errors.js';
import type { JobDeps } from '../worker-deps.js';

type Names = Pick<DataServerRow, 'database_name' | 'user_name'>;

/** What must change in a copy of a service's PostgreSQL data before another service can use the copy. */
export interface Adoption {
  from: Names;
  to: Names;
  adminPassword: string;
}

/** Returns the changes that `service` needs in a backup's data; null for none. Redis data contains no users. */
export async function adoptionOf(
  { db, keyring }: Pick<JobDeps, 'db' | 'keyring'>,
  backup: BackupRow,
  service: ServiceRow,
): Promise<Adoption | null> {
  if (backup.service_id === service.id || service.kind !== 'postgres') return null;
  const [from, to] = [await findDataServer(db, backup.service_id), await findDataServer(db, service.id)];
  if (from === undefined || to === undefined) throw new BackupError('the record of the database was deleted');
  if (from.version !== to.version) {
    throw new BackupError(`the backup was written by PostgreSQL ${from.version}, and the service has ${to.version}`);
  }
  return { from, to, adminPassword: openPasswords(keyring, to).admin };
}

/** Gives a copy the names and the admin password of another service's database. Throws a `BackupError`. */
export async function adoptPostgres(client: pg.Client, { from, to, adminPassword }: Adoption): Promise<void> {
  const name = pg.escapeIdentifier;
  const rename = (what: 'database' | 'role', old: string, fresh: string) =>
    old === fresh ? [] : [`alter ${what} ${name(old)} rename to ${name(fresh)}`];
  const statements = [
    `alter role ${name(ADMIN_USER)} password ${pg.escapeLiteral(adminPassword)}`,
    ...rename('database', from.database_name, to.database_name),
    ...rename('role', from.user_name, to.user_name),
  ];
  try {
    for (const statement of statements) await client.query(statement);
  } catch (error) {
    throw new BackupError(`the copy does not get the names of this database: ${errorMessage(error)}`);
  }
}
