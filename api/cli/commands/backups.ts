import type { Backup, Operation, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { ago, oneLine, shortId } from '../terminal-text.js';
import { recordEnded, type WaitOptions } from '../wait-until.js';
import { operationEnded } from './lifecycle.js';

export async function list(cli: Cli, { id }: Service): Promise<void> {
  const api = await cli.client();
  const { backups } = await api.get<{ backups: Backup[] }>(`/services/${id}/backups?limit=50`);
  const rows = backups.map((backup) => [
    shortId(backup.id),
    backup.status,
    backup.sizeBytes === null ? '' : `${(backup.sizeBytes / 1e6).toFixed(1)} MB`,
    `${ago(Date.now() - Date.parse(backup.createdAt))} ago`,
    oneLine(backup.error),
  ]);
  cli.printRows({ backups }, rows);
}

/**
 * Creates a backup, and waits for it unless `detach` is set. Throws with exit code 20 if the backup failed, and with 22
 * after the timeout.
 */
export async function create(cli: Cli, { id }: Service, options: WaitOptions & { pause?: boolean }): Promise<void> {
  const api = await cli.client();
  const path = `/services/${id}/backups`;
  const body = options.pause === true ? { pause: true } : {};
  const { backup: begun } = await api.write<{ backup: Backup }>('POST', path, body);
  const read = async () => (await api.once<{ backup: Backup }>('GET', `${path}/${begun.id}`)).backup;
  const why = ({ error }: Backup) => `The backup failed: ${oneLine(error)}`;
  const backup = options.detach ? begun : await recordEnded(cli, { what: 'backup', why, ...options }, read);
  cli.printData({ backup }, shortId(backup.id));
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
  const outcome = options.detach ? 'The restore is queued' : `${oneLine(service.name)} was restored from the backup`;
  cli.printOutcome({ operation: ended }, outcome);
}
