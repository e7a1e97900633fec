import type { ApiClient } from '../api-client.js';
import type { Backup, Operation, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { followDeployment } from '../follow-deployment.js';
import { ago, oneLine, seconds, shortId, table } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';
import { operationEnded } from './lifecycle.js';
import type { WaitOptions } from './wait-options.js';

const POLL_INTERVAL_MS = 1000;

/** Lists the workspace's databases, which are reachable only in the private network. */
export async function list(cli: Cli): Promise<void> {
  const services = (await cli.services()).filter(isData);
  if (cli.json) return cli.terminal.json({ services });
  if (services.length === 0)
    return cli.terminal.say('The workspace has no database yet. Create one with rnv db create postgres');
  const rows = services.map((service) => [
    oneLine(service.name),
    versionOf(service),
    service.displayStatus,
    service.internalHost,
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Makes a database and waits until it accepts connections. */
export async function create(cli: Cli, kind: string, options: WaitOptions & { name?: string; plan?: string }) {
  const api = await cli.client();
  const body = {
    name: options.name ?? kind,
    kind,
    deploy: true,
    configuration: options.plan === undefined ? {} : { plan: options.plan },
  };
  const { service } = await api.write<{ service: Service }>('POST', '/services', body);
  const { deploymentId: id } = service;
  cli.terminal.say(
    `Creating ${oneLine(service.name)}. Connect a service to it with rnv db attach ${service.internalHost}`,
  );
  if (id === null || options.detach)
    return cli.json ? cli.terminal.json({ service }) : cli.terminal.data(service.internalHost);
  await followDeployment(cli, { service, id }, options);
}

/** Adds a variable to a service that refers to the address of a database. No password is copied. */
export async function attach(cli: Cli, name: string, { as }: { as?: string }): Promise<void> {
  const database = await find(cli, name);
  const service = await cli.service();
  const key = as ?? (database.kind === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL');
  const api = await cli.client();
  const set = [{ key, reference: { serviceId: database.id, key: 'URL' } }];
  await api.write('PUT', `/services/${service.id}/variables`, { set });
  if (cli.json) return cli.terminal.json({ service: { id: service.id }, database: { id: database.id }, key });
  cli.terminal.say(
    `${oneLine(service.name)} gets ${key} from ${oneLine(database.name)} with its next deployment: run rnv deploy`,
  );
}

export async function backups(cli: Cli, name: string): Promise<void> {
  const { id } = await find(cli, name);
  const api = await cli.client();
  const answer = await api.get<{ backups: Backup[] }>(`/services/${id}/backups?limit=50`);
  if (cli.json) return cli.terminal.json({ backups: answer.backups });
  const rows = answer.backups.map((backup) => [
    shortId(backup.id),
    backup.status,
    backup.sizeBytes === null ? '' : `${(backup.sizeBytes / 1e6).toFixed(1)} MB`,
    `${ago(Date.now() - Date.parse(backup.createdAt))} ago`,
    oneLine(backup.error),
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Makes a backup and waits for its end. Throws 20 if it failed, 22 after the timeout. */
export async function backup(cli: Cli, name: string, options: WaitOptions): Promise<void> {
  const service = await find(cli, name);
  const api = await cli.client();
  const path = `/services/${service.id}/backups`;
  const begun = await api.write<{ backup: Backup }>('POST', path);
  const made = options.detach
    ? begun.backup
    : await backupEnded(cli, api, `${path}/${begun.backup.id}`, options.timeout);
  if (cli.json) return cli.terminal.json({ backup: made });
  cli.terminal.data(shortId(made.id));
}

async function backupEnded(cli: Cli, api: ApiClient, path: string, timeout: number): Promise<Backup> {
  const late = () => new CliError(EXIT.timedOut, `After ${seconds(timeout)} the backup has not ended. It continues`);
  return waitUntil(cli, { timeout, late, intervalMs: POLL_INTERVAL_MS }, async (elapsed) => {
    const { backup } = await api.once<{ backup: Backup }>('GET', path);
    if (backup.status === 'failed') throw new CliError(EXIT.failed, `The backup failed: ${oneLine(backup.error)}`);
    if (backup.status === 'succeeded') return backup;
    cli.terminal.progress(`  backup  ${backup.status}  ${seconds(elapsed)}`);
    return undefined;
  });
}

/** Replaces a database's data by a backup: the named one, or the newest good one. */
export async function restore(cli: Cli, name: string, text: string | undefined, options: WaitOptions): Promise<void> {
  const service = await find(cli, name);
  const api = await cli.client();
  const path = `/services/${service.id}/backups`;
  const all = (await api.get<{ backups: Backup[] }>(`${path}?limit=200`)).backups;
  const good = all.filter(({ id, status }) => status === 'succeeded' && (text === undefined || id.endsWith(text)));
  const [chosen, second] = good;
  if (!chosen) throw new CliError(EXIT.notFound, `${service.name} has no successful backup${text ? ` ${text}` : ''}`);
  if (text !== undefined && second)
    throw new CliError(EXIT.usage, `Several backups end with ${text}. Use more characters of the id`);
  const age = ago(Date.now() - Date.parse(chosen.createdAt));
  await cli.confirm(`Replace all data of ${service.name} with the backup ${shortId(chosen.id)}, which is ${age} old?`);
  const { operation } = await api.write<{ operation: Operation }>('POST', `${path}/${chosen.id}/restore`, {
    confirm: service.name,
  });
  const ended = options.detach ? operation : await operationEnded(cli, api, service, operation, options.timeout);
  if (cli.json) return cli.terminal.json({ operation: ended });
  cli.terminal.say(options.detach ? 'The restore is queued' : `${oneLine(service.name)} was restored from the backup`);
}

async function find(cli: Cli, name: string): Promise<Service> {
  const service = await cli.serviceNamed(name);
  if (isData(service)) return service;
  throw new CliError(EXIT.conflict, `${service.name} is of kind ${service.kind} and not a database`);
}

function isData({ kind }: Service): boolean {
  return kind === 'postgres' || kind === 'redis';
}

function versionOf({ kind, configuration }: Service): string {
  return kind === 'postgres' ? `PostgreSQL ${configuration.databaseVersion}` : 'Redis';
}
