import { randomBytes } from 'node:crypto';
import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { openFrom, SEALED, sealIn } from '../secrets/sealed-columns.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { isDataKind } from '../services/model.js';
import { databasePlanOf } from '../services/plan-catalog.js';
import type { ServiceRow } from '../services/rows.js';
import { onlineWorkers } from '../workers/store.js';
import { type DataReference, type OfferedServer, offeredValue, serverNames, storageBytes } from './model.js';
import { type DataServerRow, findDataServer, servicesReferringTo, upsertDataServer } from './store.js';

const PASSWORD_BYTES = 24;
const GIGABYTE = 1024 ** 3;

/** Generates the names and passwords of a database server. The names can change only while the server has no data. */
export async function prepareDataServer(
  trx: Transaction,
  keyring: Keyring,
  service: ServiceRow,
  configuration: ServiceConfiguration,
): Promise<void> {
  if (!isDataKind(service.kind)) return;
  const { version, database, user } = serverNames(service.kind, service.slug, configuration);
  const password = () => randomBytes(PASSWORD_BYTES).toString('base64url');
  await upsertDataServer(trx, {
    id: service.id,
    kind: service.kind,
    version,
    database_name: database,
    user_name: user,
    sealed_password: sealIn(keyring, SEALED.dataPassword, service.id, password()),
    sealed_admin_password: sealIn(keyring, SEALED.dataAdminPassword, service.id, password()),
  });
}

/** Throws source_invalid if no host can run the database server, and conflict if its data does not fit. */
export async function assertDataService(
  trx: Transaction,
  { config: { runtime } }: Pick<CommandDeps, 'config'>,
  service: ServiceRow,
  configuration: ServiceConfiguration,
): Promise<void> {
  if (!isDataKind(service.kind)) return;
  const workers = await onlineWorkers(trx);
  const { kind } = service;
  // If no worker is online, the deployment waits for one like any other deployment.
  if (workers.length > 0 && !workers.some((worker) => worker.data_kinds.includes(kind))) {
    throw new AppError('source_invalid', (runtime === 'swarm' ? MISSING_IMAGE : MISSING)[kind]);
  }
  await assertFitsData(trx, service, configuration);
  const server = await findDataServer(trx, service.id);
  const bound = storageBytes(configuration.plan);
  if (server && server.used_bytes > bound) {
    const [used, allowed] = [server.used_bytes, bound].map((bytes) => (bytes / GIGABYTE).toFixed(1));
    throw conflict(
      `The plan ${databasePlanOf(configuration.plan).name} has ${allowed} GB of storage, and the data takes ${used} GB: choose a larger plan, or delete data first`,
    );
  }
}

const MISSING_IMAGE = {
  postgres:
    'No worker of this installation finds an image of PostgreSQL: the Docker engine has none and cannot pull it; let POSTGRES_IMAGE name one that it can, then start the worker again',
  redis:
    'No worker of this installation finds an image of redis: the Docker engine has none and cannot pull it; let REDIS_IMAGE name one that it can, then start the worker again',
};

const MISSING = {
  postgres:
    'No host of this installation can run PostgreSQL: it needs Linux or macOS, and a user that is not root for each service (docs/how-to/databases.md)',
  redis:
    'No host of this installation has redis-server or valkey-server: install one of them (Debian: apt-get install redis-server), then start the worker again',
};

/** Throws conflict if the configuration changes a setting that cannot change once the server has data. */
export async function assertFitsData(
  trx: Transaction,
  service: Pick<ServiceRow, 'id' | 'kind' | 'slug'>,
  configuration: ServiceConfiguration,
): Promise<void> {
  if (service.kind !== 'postgres') return;
  const server = await findDataServer(trx, service.id);
  if (!server?.initialized_at) return;
  const wanted = serverNames('postgres', service.slug, configuration);
  const problem = changeProblem(server, configuration, wanted);
  if (problem !== null) throw conflict(problem);
}

function changeProblem(
  server: DataServerRow,
  given: ServiceConfiguration,
  wanted: ReturnType<typeof serverNames>,
): string | null {
  if (wanted.version !== server.version) {
    return (
      `The data was written by PostgreSQL ${server.version}, which version ${wanted.version} does not read: create a service of ` +
      `version ${wanted.version}, copy the data with pg_dump and psql, and let your applications refer to it`
    );
  }
  // An empty name keeps the one with which the server was created.
  if (given.databaseName !== '' && given.databaseName !== server.database_name) {
    return `The database is called "${server.database_name}" since it was made: leave databaseName as it is`;
  }
  if (given.databaseUser !== '' && given.databaseUser !== server.user_name) {
    return `The user is called "${server.user_name}" since the database was made: leave databaseUser as it is`;
  }
  return null;
}

/** Throws conflict if other services refer to a database that is about to be deleted. The message names them. */
export async function assertUnreferenced(
  trx: Transaction,
  service: Pick<ServiceRow, 'id' | 'kind' | 'name'>,
): Promise<void> {
  if (!isDataKind(service.kind)) return;
  const names = await servicesReferringTo(trx, service.id);
  if (names.length === 0) return;
  const shown = names.map((name) => `"${name}"`).join(', ');
  throw conflict(
    `Other services refer to "${service.name}": ${shown}. Remove their references and deploy them, or delete them first`,
  );
}

class MissingDataServer extends SealError {}

/** Returns the current values of references to databases. Throws `SealError`. */
export async function openDataReferences(
  db: Db,
  keyring: Keyring,
  references: Readonly<Record<string, DataReference>>,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  const servers = new Map<string, OfferedServer>();
  for (const [variable, { serviceId, key }] of Object.entries(references)) {
    const server = servers.get(serviceId) ?? (await offeredServer(db, keyring, serviceId, variable));
    servers.set(serviceId, server);
    const value = offeredValue(server, key);
    if (value === undefined) throw new MissingDataServer(`the database that ${variable} refers to offers no ${key}`);
    values[variable] = value;
  }
  return values;
}

async function offeredServer(db: Db, keyring: Keyring, serviceId: string, variable: string): Promise<OfferedServer> {
  const row = await findDataServer(db, serviceId);
  if (!row?.sealed_password) throw new MissingDataServer(`the database that ${variable} refers to was deleted`);
  if (row.reach_host === null || row.reach_port === null) {
    throw new MissingDataServer(`the database that ${variable} refers to was never started; deploy it first`);
  }
  return {
    kind: row.kind,
    host: row.reach_host,
    port: row.reach_port,
    user: row.user_name,
    password: openFrom(keyring, SEALED.dataPassword, row.id, row.sealed_password),
    database: row.database_name,
  };
}

/** Returns the unsealed passwords of a database server. Throws `SealError`, also if its service was deleted. */
export function openPasswords(keyring: Keyring, row: DataServerRow): { user: string; admin: string } {
  const { id, sealed_password: user, sealed_admin_password: admin } = row;
  if (user === null || admin === null) throw new SealError(`the passwords of the database ${id} were erased`);
  return {
    user: openFrom(keyring, SEALED.dataPassword, id, user),
    admin: openFrom(keyring, SEALED.dataAdminPassword, id, admin),
  };
}
