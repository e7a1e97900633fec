import * as identity from '../shared/commands/identity.js';
import * as registries from '../shared/commands/registries.js';
import { assertKeysFit, forgetLostKey, rotateSecrets } from '../shared/commands/rotate-secrets.js';
import { resetSecondFactor } from '../shared/commands/second-factor.js';
import { loadDatabaseSettings, loadSecretsKeys } from '../shared/config.js';
import { createDatabase, type Db } from '../shared/db/client.js';
import { assertMigrated } from '../shared/db/migrate.js';
import type { ApiKeyRow, RegistryRow } from '../shared/db/rows.js';
import { PLAN_IDS, type PlanId } from '../shared/domain/catalog.js';
import { KEY_SCOPES, ROLES } from '../shared/domain/roles.js';
import { embeddedUrl } from '../shared/embedded/postgres-address.js';
import { readSecretsKey } from '../shared/embedded/secrets-key.js';
import { AppError, errorMessage } from '../shared/errors.js';
import { Keyring } from '../shared/secrets/keyring.js';
import {
  choice,
  type Options,
  parse,
  required,
  settings,
  time,
  UsageError,
  uuid,
  workspaceId,
} from './admin-options.js';

/** `npm run admin -- …`: a second door to the commands of identity (design, Commands). */

const USAGE = `Usage: npm run admin -- <command> [--json]

  workspace create    --name <name> --owner <email> [--plan <plan>]
  workspace configure --workspace <id> [--plan <plan>] [--set <key>=<value> …]
  user create         --email <email> [--password <password>] [--verified]
  user reset-mfa      --email <email>
  member add          --workspace <id> --email <email> [--role ${ROLES.join('|')}]
  member remove       --workspace <id> --email <email>
  key create          --workspace <id> --email <email> --scope ${KEY_SCOPES.join('|')} --name <name> [--expires <ISO 8601 time>]
  key list            --workspace <id>
  key revoke          --id <id>
  registry add        --workspace <id> --name <name> --server <host[:port]> --username <name> --password <password>
  registry list       --workspace <id>
  registry remove     --id <id>
  secrets rotate
  secrets forget      --id <id of a lost key>

Plans are ${PLAN_IDS.join(', ')}. "user reset-mfa" is for a lost authenticator: it ends the user's sessions, the password alone
signs in, and where a workspace requires MFA the user and the user's keys only read until another one is enrolled.
"secrets rotate" seals everything anew with SECRETS_KEY, which SECRETS_KEY_PREVIOUS (a comma list) or SECRETS_KEY opens.
"secrets forget" lets the platform start without a key that is lost: what it sealed (variables, releases, second factors) stays
closed, and has to be set again.
The database is DATABASE_URL, or else the embedded one of DATA_DIR while "npm start" runs.
`;

type Output = Record<string, unknown> | Record<string, unknown>[];

const COMMANDS: Record<string, { takes: (keyof Options)[]; run: (db: Db, options: Options) => Promise<Output> }> = {
  'workspace create': {
    takes: ['name', 'owner', 'plan'],
    async run(db, options) {
      const input = { name: required(options, 'name'), owner: required(options, 'owner'), plan: plan(options) };
      const { workspace, user, password } = await db.transaction((trx) => identity.createWorkspace(trx, input));
      const owner = { id: user.id, email: user.email, ...(password === null ? {} : { password }) };
      return { id: workspace.id, name: workspace.name, plan: workspace.plan, owner };
    },
  },
  'workspace configure': {
    takes: ['workspace', 'plan', 'set'],
    async run(db, options) {
      const { set: pairs = [] } = options;
      if (pairs.length === 0 && options.plan === undefined) throw new UsageError('--set or --plan is missing');
      const [changes, planId, id] = [settings(pairs), plan(options), workspaceId(options)];
      const workspace = await db.transaction(async (trx) => {
        const configured = await identity.configureWorkspace(trx, id, changes);
        return planId === undefined ? configured : identity.changePlan(trx, id, planId);
      });
      return { id, name: workspace.name, plan: workspace.plan, configuration: workspace.configuration };
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
  'user reset-mfa': {
    takes: ['email'],
    async run(db, options) {
      const user = await db.transaction((trx) => resetSecondFactor(trx, required(options, 'email')));
      return { id: user.id, email: user.email, mfaEnabled: false };
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
      const keys = await loadKeyring();
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
      const rotation = await rotateSecrets(db, await loadKeyring());
      if (rotation.unopenable.length > 0) process.exitCode = 1;
      return { ...rotation };
    },
  },
  'secrets forget': {
    takes: ['id'],
    async run(db, options) {
      const id = required(options, 'id');
      return { forgotten: id, closed: await forgetLostKey(db, await loadKeyring(), id) };
    },
  },
};

async function loadKeyring(): Promise<Keyring> {
  const { current, previous } = loadSecretsKeys(await readSecretsKey(loadDatabaseSettings().dataDir));
  return new Keyring(current, ...previous);
}

function plan(options: Options): PlanId | undefined {
  return options.plan === undefined ? undefined : choice(options.plan, 'plan', PLAN_IDS);
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
