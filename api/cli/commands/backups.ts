import type { ApiClient } from '../api-client.js';
import type { Backup, Operation, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { ago, oneLine, seconds, shortId, table } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';
import { operationEnded } from './lifecycle.js';
import type { WaitOptions } from './wait-options.js';

const POLL_INTERVAL_MS = 1000;

/** Lists the backups of a service, newest first. */
export async function list(cli: Cli, { id }: Service): Promise<void> {
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

/** Creates a backup and waits for it. Exit code 20 if it failed, 22 after the timeout. */
export async function create(cli: Cli, { id }: Service, options: WaitOptions & { pause?: boolean }): Promise<void> {
  const api = await cli.client();
  const path = `/services/${id}/backups`;
  const body = options.pause === true ? { pause: true } : {};
  const begun = await api.write<{ backup: Backup }>('POST', path, body);
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

/** Replaces a service's data with a backup: the given one, or the newest successful one. */
export async function restore(
  cli: Cli,
  service: Service,
  text: string | undefined,
  options: WaitOptions,
): Promise<void> {
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
