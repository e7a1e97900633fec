import { openPasswords } from '../../shared/data/commands.js';
import { findDataServer } from '../../shared/data/store.js';
import type { DataKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { RemoteDeps } from './remote-deps.js';

export interface DatabaseShell {
  /** Lines for `sh`, which execute the database's client if the host has it. */
  script: string;
  env: Record<string, string>;
}

const CLIENTS: Readonly<Record<DataKind, string>> = {
  postgres: 'command -v psql >/dev/null && exec psql',
  redis: 'command -v redis-cli >/dev/null && exec redis-cli -h 127.0.0.1 -p "$REDIS_PORT" --user "$REDIS_USER"',
};

/**
 * Returns how to start a shell for a database; null for other services. Throws `SealError` if the password cannot be
 * decrypted.
 */
export async function databaseShell(
  { db, keyring }: Pick<RemoteDeps, 'db' | 'keyring'>,
  { service_id, port, given_port }: Pick<ReplicaRow, 'service_id' | 'port' | 'given_port'>,
): Promise<DatabaseShell | null> {
  const server = await findDataServer(db, service_id);
  if (server === undefined) return null;
  const { user: password } = openPasswords(keyring, server);
  const { kind, user_name: user, database_name: database } = server;
  const own = String(given_port ?? port ?? '');
  const env: Record<string, string> =
    kind === 'postgres'
      ? { PGHOST: '127.0.0.1', PGPORT: own, PGUSER: user, PGDATABASE: database, PGPASSWORD: password }
      : { REDIS_PORT: own, REDIS_USER: user, REDISCLI_AUTH: password };
  return { script: CLIENTS[kind], env };
}
