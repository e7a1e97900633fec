import { parseArgs } from 'node:util';
import type { TSchema } from '@sinclair/typebox';
import { validate as isUuid } from 'uuid';
import * as identity from '../shared/commands/identity.js';
import * as registries from '../shared/commands/registries.js';
import { assertKeysFit, rotateSecrets } from '../shared/commands/rotate-secrets.js';
import { loadDatabaseSettings, loadSecretsKeys } from '../shared/config.js';
import { createDatabase, type Db } from '../shared/db/client.js';
import { assertMigrated } from '../shared/db/migrate.js';
import type { ApiKeyRow, RegistryRow } from '../shared/db/rows.js';
import { KEY_SCOPES, ROLES } from '../shared/domain/roles.js';
import { WorkspaceConfigurationSchema } from '../shared/domain/workspace.js';
import { embeddedUrl } from '../shared/embedded/postgres-address.js';
import { readSecretsKey } from '../shared/embedded/secrets-key.js';
import { AppError, errorMessage } from '../shared/errors.js';
import { Keyring } from '../shared/secrets/keyring.js';

/** `npm run admin -- …`: a second door to the commands of identity (design, Commands). */

const USAGE = `Usage: npm run admin -- <command> [--json]

  workspace create    --name <name> --owner <email>
  workspace configure --workspace <id> --set <key>=<value> …
  user create         --email <email> [--password <password>] [--verified]
  member add          --workspace <id> --email <email> [--role ${ROLES.join('|')}]
  member remove       --workspace <id> --email <email>
  key create          --workspace <id> --email <email> --scope ${KEY_SCOPES.join('|')} --name <name> [--expires <ISO 8601 time>]
  key list            --workspace <id>
  key revoke          --id <id>
  registry add        --workspace <id> --name <name> --server <host[:port]> --username <name> --password <password>
  registry list       --workspace <id>
  registry remove     --id <id>
  secrets rotate

"secrets rotate" seals everything anew with SECRETS_KEY, which SECRETS_KEY_PREVIOUS (a comma list) or SECRETS_KEY opens.
The database is DATABASE_URL, or else the embedded one of DATA_DIR while "npm start" runs.
`;

/** The command line itself is wrong: the usage is shown and the exit code is 2. */
class UsageError extends Error {}

type Options = ReturnType<typeof parse>['values'];
type Output = Record<string, unknown> | Record<string, unknown>[];

const COMMANDS: Record<string, { takes: (keyof Options)[]; run: (db: Db, options: Options) => Promise<Output> }> = {
  'workspace create': {
    takes: ['name', 'owner'],
    async run(db, options) {
      const input = { name: required(options, 'name'), owner: required(options, 'owner') };
      const { workspace, user, password } = await db.transaction((trx) => identity.createWorkspace(trx, input));
      const owner = { id: user.id, email: user.email, ...(password === null ? {} : { password }) };
      return { id: workspace.id, name: workspace.name, plan: workspace.plan, owner };
    },
  },
  'workspace configure': {
    takes: ['workspace', 'set'],
    async run(db, options) {
      const changes = settings(options.set ?? []);
      const id = workspaceId(options);
      const workspace = await db.transaction((trx) => identity.configureWorkspace(trx, id, changes));
      return { id: workspace.id, name: workspace.name, configuration: workspace.configuration };
    },
  },
  'user create': {
    takes: ['email', 'password', 'verified'],
    async run(db, { password: given, verified = false, ...options }) {
      const { user, password } = await identity.createUser(db, {
        email: required(options, 'email'),
        password: given,
        verified,
      });
      return { id: user.id, email: user.email, verified, ...(password === null ? {} : { password }) };
    },
  },
  'member add': {
    takes: ['workspace', 'email', 'role'],
    async run(db, options) {
      const role = choice(options.role ?? 'developer', 'role', ROLES);
      const input = { workspaceId: workspaceId(options), email: required(options, 'email'), role };
      await db.transaction((trx) => identity.addMember(trx, input));
      return input;
    },
  },
  'member remove': {
    takes: ['workspace', 'email'],
    async run(db, options) {
      const input = { workspaceId: workspaceId(options), email: required(options, 'email') };
      await db.transaction((trx) => identity.removeMember(trx, input));
      return { ...input, removed: true };
    },
  },
  'key create': {
    takes: ['workspace', 'email', 'scope', 'name', 'expires'],
    async run(db, options) {
      const { key, row } = await identity.createKey(db, {
        workspaceId: workspaceId(options),
        email: required(options, 'email'),
        scope: choice(required(options, 'scope'), 'scope', KEY_SCOPES),
        name: required(options, 'name'),
        expiresAt: options.expires === undefined ? null : time(options.expires),
      });
      return { ...presentKey(row), key };
    },
  },
  'key list': {
    takes: ['workspace'],
    async run(db, options) {
      const rows = await identity.listApiKeys(db, workspaceId(options));
      return rows.map((row) => ({ ...presentKey(row), email: row.email }));
    },
  },
  'key revoke': {
    takes: ['id'],
    async run(db, options) {
      return presentKey(await identity.revokeApiKey(db, uuid(required(options, 'id'), 'id')));
    },
  },
  'registry add': {
    takes: ['workspace', 'name', 'server', 'username', 'password'],
    async run(db, options) {
      const input = {
        workspaceId: workspaceId(options),
        name: required(options, 'name'),
        server: required(options, 'server'),
        username: required(options, 'username'),
        password: required(options, 'password'),
      };
      const keys = await keyring();
      // Notes the key that seals, so that no process without it starts.
      await assertKeysFit(db, keys);
      return presentRegistry(await registries.addRegistry(db, keys, input));
    },
  },
  'registry list': {
    takes: ['workspace'],
    async run(db, options) {
      return (await registries.listRegistries(db, workspaceId(options))).map(presentRegistry);
    },
  },
  'registry remove': {
    takes: ['id'],
    async run(db, options) {
      const row = await registries.removeRegistry(db, uuid(required(options, 'id'), 'id'));
      return { ...presentRegistry(row), removed: true };
    },
  },
  'secrets rotate': {
    takes: [],
    async run(db) {
      const rotation = await rotateSecrets(db, await keyring());
      if (rotation.unopenable.length > 0) process.exitCode = 1;
      return { ...rotation };
    },
  },
};

async function keyring(): Promise<Keyring> {
  const { current, previous } = loadSecretsKeys(await readSecretsKey(loadDatabaseSettings().dataDir));
  return new Keyring(current, ...previous);
}

function presentRegistry(row: RegistryRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    server: row.server,
    username: row.username,
    workspaceId: row.workspace_id,
    createdAt: row.created_at,
  };
}

function presentKey(row: ApiKeyRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    workspaceId: row.workspace_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        name: { type: 'string' },
        owner: { type: 'string' },
        workspace: { type: 'string' },
        set: { type: 'string', multiple: true },
        email: { type: 'string' },
        password: { type: 'string' },
        server: { type: 'string' },
        username: { type: 'string' },
        verified: { type: 'boolean' },
        role: { type: 'string' },
        scope: { type: 'string' },
        expires: { type: 'string' },
        id: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

function required(options: Options, name: Exclude<keyof Options, 'set' | 'verified' | 'json' | 'help'>): string {
  const value = options[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`);
  return value;
}

function workspaceId(options: Options): string {
  return uuid(required(options, 'workspace'), 'workspace');
}

function uuid(value: string, name: string): string {
  if (!isUuid(value)) throw new UsageError(`--${name} must be a UUID, not "${value}"`);
  return value;
}

function choice<T extends string>(value: string, name: string, values: readonly T[]): T {
  const found = values.find((v) => v === value);
  if (found === undefined) throw new UsageError(`--${name} must be one of ${values.join(', ')}, not "${value}"`);
  return found;
}

function time(value: string): Date {
  const date = new Date(value);
  if (!/^\d{4}-\d\d-\d\d/.test(value) || Number.isNaN(date.getTime())) {
    throw new UsageError(`--expires must be an ISO 8601 time such as 2030-01-31T12:00:00Z, not "${value}"`);
  }
  return date;
}

/** `key=value` pairs; numbers and booleans are read as such where the setting is one. What is wrong, the command says. */
function settings(pairs: string[]): Record<string, unknown> {
  const properties: Record<string, TSchema> = WorkspaceConfigurationSchema.properties;
  const changes: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--set takes key=value, not "${pair}"`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const type: unknown = properties[key]?.type;
    const number = Number(value);
    if (type === 'boolean' && (value === 'true' || value === 'false')) changes[key] = value === 'true';
    else if ((type === 'number' || type === 'integer') && value.trim() !== '' && !Number.isNaN(number))
      changes[key] = number;
    else changes[key] = value;
  }
  if (pairs.length === 0) throw new UsageError('--set is missing');
  return changes;
}

async function connect(): Promise<Db> {
  const { databaseUrl, dataDir } = loadDatabaseSettings();
  const url = databaseUrl ?? (await embeddedUrl(dataDir));
  if (url === null) {
    throw new Error(
      `DATABASE_URL is not set and ${dataDir} has no embedded database: run "npm start" first, or set it`,
    );
  }
  const db = createDatabase({ url, name: 'ranvier-admin', poolSize: 1 });
  try {
    await assertMigrated(db);
    return db;
  } catch (error) {
    await db.destroy();
    if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error;
    throw new Error(
      databaseUrl === null
        ? `the embedded database of ${dataDir} is not running: run "npm start" first, or set DATABASE_URL`
        : 'nothing listens at DATABASE_URL',
    );
  }
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  const { json = false, help = false, ...options } = values;
  if (help) {
    process.stdout.write(USAGE);
    return;
  }
  const name = positionals.join(' ');
  const command = COMMANDS[name];
  if (!command) throw new UsageError(name === '' ? 'a command is missing' : `unknown command "${name}"`);
  const stray = Object.keys(options).find((option) => !command.takes.includes(option as keyof Options));
  if (stray !== undefined) throw new UsageError(`"${name}" does not take --${stray}`);
  const db = await connect();
  try {
    const output = await command.run(db, options);
    process.stdout.write(json ? `${JSON.stringify(output)}\n` : forPeople(output));
  } finally {
    await db.destroy();
  }
}

/** One line a value; a list has its items apart by an empty line. */
function forPeople(output: Output): string {
  const items = Array.isArray(output) ? output : [output];
  if (items.length === 0) return 'none\n';
  const line = ([name, value]: [string, unknown]) =>
    `${name}: ${value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : value}\n`;
  return items.map((item) => Object.entries(item).map(line).join('')).join('\n');
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageError ? `\n${USAGE}` : '';
  const code = error instanceof AppError ? ` (${error.code})` : '';
  process.stderr.write(`${errorMessage(error)}${code}\n${usage}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
