import { type Command, Option } from 'commander';
import { type Environment, loadDatabaseSettings, loadSecretsKeys } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import * as identity from '../../shared/identity/commands.js';
import { KEY_SCOPES, type KeyScope, ROLES, type Role } from '../../shared/identity/policy.js';
import type { ApiKeyRow } from '../../shared/identity/rows.js';
import { resetSecondFactor } from '../../shared/identity/second-factor.js';
import type { RegistryRow } from '../../shared/images/model.js';
import * as registries from '../../shared/images/registries.js';
import { readSecretsKey } from '../../shared/launcher/secrets-key.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { assertKeysFit, forgetLostKey, rotateSecrets } from '../../shared/secrets/rotate-secrets.js';
import { PLAN_IDS, type PlanId } from '../../shared/services/plan-catalog.js';
import { forgetProvider } from '../resources/session/provider/identity-store.js';
import { reopenToPasswords } from '../resources/sign-in/commands.js';
import { oneOf, setting, text, time, uuid } from './option-values.js';

export type Output = Record<string, unknown> | Record<string, unknown>[];
/** `fail` makes the exit code 1; the output of the command is still printed. */
interface Session {
  env: Environment | undefined;
  fail: () => void;
}
/** Opens the database, calls `work` with it, and prints the result. */
export type Run = (work: (db: Db, session: Session) => Promise<Output>) => Promise<void>;

const WORKSPACE = new Option('--workspace <id>', 'the workspace').argParser(uuid).makeOptionMandatory();
const EMAIL = new Option('--email <email>', 'the e-mail address of the user').argParser(text).makeOptionMandatory();
const PLAN = new Option('--plan <plan>', PLAN_IDS.join(', ')).argParser(oneOf('--plan', PLAN_IDS));

/** Adds all operator commands to the program. */
export function addCommands(program: Command, run: Run): void {
  addWorkspaceCommands(program.command('workspace').description('workspaces'), run);
  addUserCommands(program.command('user').description('users'), run);
  addMemberCommands(program.command('member').description('members of a workspace'), run);
  addKeyCommands(program.command('key').description('API keys'), run);
  addRegistryCommands(program.command('registry').description('image registries of a workspace'), run);
  addSecretsCommands(program.command('secrets').description('keys that encrypt'), run);
}

function addWorkspaceCommands(workspace: Command, run: Run): void {
  workspace
    .command('create')
    .description('create a workspace, and its owner if there is no such user')
    .requiredOption('--name <name>', 'its name', text)
    .requiredOption('--owner <email>', 'the e-mail address of its owner', text)
    .addOption(PLAN)
    .action((options: { name: string; owner: string; plan?: PlanId }) =>
      run(async (db) => {
        const created = await db.transaction((trx) => identity.createWorkspace(trx, options));
        const owner = { id: created.user.id, email: created.user.email, ...shownOnce(created.password) };
        return { id: created.workspace.id, name: created.workspace.name, plan: created.workspace.plan, owner };
      }),
    );
  workspace
    .command('configure')
    .description('change settings or the plan of a workspace')
    .addOption(WORKSPACE)
    .addOption(PLAN)
    .option('--set <key=value>', 'a setting; can be repeated', setting)
    .action((options: { workspace: string; plan?: PlanId; set?: Record<string, unknown> }, command: Command) => {
      const { workspace: id, plan, set } = options;
      if (!set && plan === undefined) command.error('error: --set or --plan is missing');
      return run(async (db) => {
        const row = await db.transaction(async (trx) => {
          const configured = await identity.configureWorkspace(trx, id, set ?? {});
          return plan === undefined ? configured : identity.changePlan(trx, id, plan);
        });
        return { id, name: row.name, plan: row.plan, configuration: row.configuration };
      });
    });
  workspace
    .command('allow-passwords')
    .description('let sessions that began with a password reach the workspace again')
    .addOption(WORKSPACE)
    .action(({ workspace: id }: { workspace: string }) =>
      run(async (db) => {
        await db.transaction((trx) => reopenToPasswords(trx, id));
        return { id, passwords: true };
      }),
    );
}

function addUserCommands(user: Command, run: Run): void {
  user
    .command('create')
    .description('create a user; without --password, one is generated and shown once')
    .addOption(EMAIL)
    .option('--password <password>', 'at least 8 characters')
    .option('--verified', 'the e-mail address counts as verified')
    .action(({ verified = false, ...options }: { email: string; password?: string; verified?: boolean }) =>
      run(async (db) => {
        const { user: created, password } = await identity.createUser(db, { ...options, verified });
        return { id: created.id, email: created.email, verified, ...shownOnce(password) };
      }),
    );
  user
    .command('reset-mfa')
    .description("remove a lost second factor; the user's sessions end")
    .addOption(EMAIL)
    .action(({ email }: { email: string }) =>
      run(async (db) => {
        const row = await db.transaction((trx) => resetSecondFactor(trx, email));
        return { id: row.id, email: row.email, mfaEnabled: false };
      }),
    );
  user
    .command('forget-provider')
    .description('unlink a user from the provider; the next person with the address is linked')
    .addOption(EMAIL)
    .action(({ email }: { email: string }) =>
      run(async (db) => ({ email, unlinked: await db.transaction((trx) => forgetProvider(trx, email)) })),
    );
}

interface MemberOptions {
  workspace: string;
  email: string;
}

function addMemberCommands(member: Command, run: Run): void {
  member
    .command('add')
    .description('add a user to a workspace, or change the role')
    .addOption(WORKSPACE)
    .addOption(EMAIL)
    .option('--role <role>', ROLES.join(', '), oneOf('--role', ROLES), 'developer')
    .action(({ workspace, email, role }: MemberOptions & { role: Role }) =>
      run(async (db) => {
        const input = { workspaceId: workspace, email, role };
        await db.transaction((trx) => identity.addMember(trx, input));
        return input;
      }),
    );
  member
    .command('remove')
    .description('remove a user from a workspace')
    .addOption(WORKSPACE)
    .addOption(EMAIL)
    .action(({ workspace, email }: MemberOptions) =>
      run(async (db) => {
        const input = { workspaceId: workspace, email };
        await db.transaction((trx) => identity.removeMember(trx, input));
        return { ...input, removed: true };
      }),
    );
}

function addKeyCommands(key: Command, run: Run): void {
  key
    .command('create')
    .description('create a key of a member; it is shown once')
    .addOption(WORKSPACE)
    .addOption(EMAIL)
    .requiredOption('--scope <scope>', KEY_SCOPES.join(', '), oneOf('--scope', KEY_SCOPES))
    .requiredOption('--name <name>', 'its name in lists', text)
    .option('--expires <time>', 'when it expires, in ISO 8601', time)
    .action((options: MemberOptions & { scope: KeyScope; name: string; expires?: Date }) =>
      run(async (db) => {
        const { workspace: workspaceId, expires: expiresAt = null, ...given } = options;
        const created = await identity.createKey(db, { workspaceId, expiresAt, ...given });
        return { ...presentKey(created.row), key: created.key };
      }),
    );
  key
    .command('list')
    .description('list the keys of a workspace')
    .addOption(WORKSPACE)
    .action(({ workspace }: { workspace: string }) =>
      run(async (db) => {
        const rows = await identity.listApiKeys(db, workspace);
        return rows.map((row) => ({ ...presentKey(row), email: row.email }));
      }),
    );
  key
    .command('revoke')
    .description('revoke a key for good')
    .requiredOption('--id <id>', 'the key', uuid)
    .action(({ id }: { id: string }) => run(async (db) => presentKey(await identity.revokeApiKey(db, id))));
}

interface RegistryOptions {
  workspace: string;
  name: string;
  server: string;
  username: string;
  password: string;
}

function addRegistryCommands(registry: Command, run: Run): void {
  registry
    .command('add')
    .description('add a registry with its credentials')
    .addOption(WORKSPACE)
    .requiredOption('--name <name>', 'its name', text)
    .requiredOption('--server <host[:port]>', 'the registry', text)
    .requiredOption('--username <name>', 'the user name', text)
    .requiredOption('--password <password>', 'the password or token', text)
    .action(({ workspace: workspaceId, ...given }: RegistryOptions) =>
      run(async (db, { env }) => {
        const keys = await loadKeyring(env);
        await assertKeysFit(db, keys);
        return presentRegistry(await registries.addRegistry(db, keys, { workspaceId, ...given }));
      }),
    );
  registry
    .command('list')
    .description('list the registries of a workspace')
    .addOption(WORKSPACE)
    .action(({ workspace }: { workspace: string }) =>
      run(async (db) => (await registries.listRegistries(db, workspace)).map(presentRegistry)),
    );
  registry
    .command('remove')
    .description('remove a registry')
    .requiredOption('--id <id>', 'the registry', uuid)
    .action(({ id }: { id: string }) =>
      run(async (db) => ({ ...presentRegistry(await registries.removeRegistry(db, id)), removed: true })),
    );
}

function addSecretsCommands(secrets: Command, run: Run): void {
  secrets
    .command('rotate')
    .description('seal everything again with SECRETS_KEY')
    .action(() =>
      run(async (db, { env, fail }) => {
        const rotation = await rotateSecrets(db, await loadKeyring(env));
        if (rotation.unopenable.length > 0) fail();
        return { ...rotation };
      }),
    );
  secrets
    .command('forget')
    .description('let the platform start without a key that is lost')
    .requiredOption('--id <id>', 'the id of the lost key', text)
    .action(({ id }: { id: string }) =>
      run(async (db, { env }) => ({ forgotten: id, closed: await forgetLostKey(db, await loadKeyring(env), id) })),
    );
}

async function loadKeyring(env: Environment | undefined): Promise<Keyring> {
  const { current, previous } = loadSecretsKeys(await readSecretsKey(loadDatabaseSettings(env).dataDir), env);
  return new Keyring(current, ...previous);
}

function shownOnce(password: string | null): { password?: string } {
  return password === null ? {} : { password };
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
