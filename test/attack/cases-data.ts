import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createService, deploy, ended, queueDeploy, readLogs, type Service } from '../support/deployments.js';
import { messageOf } from '../support/outcomes.js';
import type { Platform } from '../support/platform.js';
import { asOwner, commandsOfOwner, takeBackup } from './backups.js';
import { type CaseContext, type HostileCase, harmed, hostileCase, unless } from './hostile-case.js';
import type { HostileTenant } from './hostile-tenant.js';

const SECRET = 'SECRETS_KEY=the-key-of-the-host';
const BACKUP_MS = 30_000;
const SLEEP_SECONDS = 45;
const PIPE_MS = 8_000;

/** SQL functions that run `act` with the caller's rights, if a check resolves names in the tenant's search path. */
const traps = (act: string) => (database: string) =>
  `
  create schema evil;
  create function evil.current_setting(text) returns text language plpgsql as $$
  begin
    if pg_catalog.pg_postmaster_start_time() < '${new Date().toISOString()}' then return pg_catalog.current_setting($1); end if;
    ${act}
    return pg_catalog.current_setting($1);
  end $$;
  alter database "${database}" set search_path = evil, pg_catalog, public;`;

async function database(
  { client }: HostileTenant,
  name: string,
  kind: 'postgres' | 'redis' = 'postgres',
): Promise<Service> {
  const configuration = kind === 'postgres' ? { databaseVersion: '18' } : {};
  const service = await createService(client, { name, kind, configuration });
  await deploy(client, service.id);
  return service;
}

const backupError = ({ client }: HostileTenant, { id }: Service) => messageOf(takeBackup(client, id));

async function hostFile(): Promise<{ path: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ranvier-host-'));
  await chmod(folder, 0o755);
  const path = join(folder, 'settings');
  await writeFile(path, SECRET, { mode: 0o600 });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function inPlaceOfVersion<T>(
  { dataDir }: Platform,
  { id }: Service,
  put: (path: string) => unknown,
  work: () => Promise<T>,
): Promise<T> {
  const version = join(dataDir, 'volumes', id, 'data', 'PG_VERSION');
  try {
    await rename(version, `${version}.old`);
    await put(version);
    return await work();
  } finally {
    await rm(version).catch(() => undefined);
    await rename(`${version}.old`, version).catch(() => undefined);
  }
}

/** Attacks by owners of databases, who have SQL and, in the worst case, the files of their server. */
export const DATA: readonly HostileCase[] = [
  hostileCase({
    name: 'backup: functions on the search path of its check',
    rule: 1,
    short: true,
    run: async ({ platform, tenants: [tenant] }) => {
      const service = await database(tenant, 'traps');
      await asOwner(platform, service.id, traps(`raise exception 'TRAP called as %', current_user;`));
      return backupError(tenant, service);
    },
    check: (error) => unless(error === '', error),
  }),
  hostileCase({
    name: 'backup: a link in place of the file that ends its server',
    rule: 1,
    run: async ({ platform, tenants: [tenant] }) => {
      const file = await hostFile();
      try {
        const service = await database(tenant, 'links');
        const links = `copy (select 1) to program 'ln -s ${file.path} ../stop; ln -s ${file.path} stop; true';`;
        const asSuperuser = `if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then ${links} end if;`;
        await asOwner(platform, service.id, traps(asSuperuser));
        const error = await backupError(tenant, service);
        return { error, left: await readFile(file.path, 'utf8') };
      } finally {
        await file.remove();
      }
    },
    check: ({ left, error }) =>
      unless(left === SECRET, `the file of the host was emptied; the backup ended: ${error || 'well'}`),
  }),
  hostileCase({
    name: 'deployment: a link in place of PG_VERSION',
    rule: 1,
    short: true,
    run: async ({ platform, tenants: [tenant] }) => {
      const file = await hostFile();
      const service = await database(tenant, 'version');
      const link = (path: string) => symlink(file.path, path);
      return inPlaceOfVersion(platform, service, link, async () => {
        const { id } = await queueDeploy(tenant.client, service.id);
        const { error } = await ended(tenant.client, service.id, id, 60_000);
        const log = await readLogs(tenant.client, service.id);
        return [error, ...log.map(({ message }) => message)].find((line) => line.includes('the-key-of-the-host')) ?? '';
      }).finally(file.remove);
    },
    check: (shown) => unless(shown === '', `it shows: ${shown}`),
  }),
  hostileCase({
    name: 'deployment and backup: a pipe in place of PG_VERSION',
    rule: 1,
    short: true,
    run: async ({ platform, tenants: [tenant] }) => {
      const begun = Date.now();
      const service = await database(tenant, 'pipe');
      const pipe = (path: string) => execFileSync('mkfifo', [path]);
      return inPlaceOfVersion(platform, service, pipe, async () => {
        const backup = await backupError(tenant, service);
        // The database server waits for the named pipe in its own sandbox; the platform must not wait.
        const { id } = await queueDeploy(tenant.client, service.id);
        await delay(PIPE_MS);
        await tenant.client.call('POST', `/services/${service.id}/deploys/${id}/cancel`, {});
        const { status } = await ended(tenant.client, service.id, id, 60_000);
        return { begun, backup, status };
      });
    },
    check: ({ begun, backup, status }, context) =>
      unless(
        status !== 'live' && !backup.includes('not within'),
        `the deployment is ${status}; the backup: ${backup}`,
      ) || harmed(context, 'write', begun, 5_000),
  }),
  hostileCase({
    name: 'backup: the file name of a redis',
    rule: 1,
    run: async ({ platform, tenants: [tenant] }) => {
      const service = await database(tenant, 'names', 'redis');
      const commands = [
        ['CONFIG', 'SET', 'dbfilename', '../../stop'],
        ['CONFIG', 'SET', 'dir', '/tmp'],
        ['CONFIG', 'REWRITE'],
        ['REPLICAOF', '127.0.0.1', '6379'],
        ['MODULE', 'LOAD', '/tmp/x.so'],
        ['DEBUG', 'SLEEP', '30'],
        ['ACL', 'SETUSER', 'default', 'on', 'nopass', '+@all'],
        ['SHUTDOWN', 'NOSAVE'],
        ['SYNC'],
      ];
      const answers = await commandsOfOwner(platform, service.id, commands);
      return {
        answers: commands.map((words, i) => `${words.join(' ')}: ${answers[i]}`),
        error: await backupError(tenant, service),
      };
    },
    check: ({ answers, error }) => answers.find((answer) => !/: (NOPERM|ERR)$/.test(answer)) ?? error,
  }),
  hostileCase({
    name: 'backup: two checks that sleep hold every slot',
    rule: 2,
    run: async ({ platform, tenants: [tenant] }: CaseContext) => {
      const services = await Promise.all(['sleeps-1', 'sleeps-2'].map((name) => database(tenant, name)));
      const sleep = `perform pg_catalog.pg_sleep(${SLEEP_SECONDS});`;
      for (const { id } of services) await asOwner(platform, id, traps(sleep));
      const begun = Date.now();
      await Promise.all(services.map((service) => backupError(tenant, service)));
      return begun;
    },
    check: (begun, context) => harmed(context, 'backup', begun, BACKUP_MS),
  }),
];
