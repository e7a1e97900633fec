import type { ApiClient } from '../api-client.js';
import type { Alert } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine, shortId, table } from '../terminal-text.js';

const PATH = '/alerts';
const UNITS: Partial<Record<Alert['metric'], string>> = { latency_p99: ' ms', restarts: '', certificate: ' days' };
const MINUTE_MS = 60_000;

export async function alerts(cli: Cli): Promise<void> {
  const found = await list(await cli.client());
  if (cli.json) return cli.terminal.json({ alerts: found });
  const names = new Map((await cli.services()).map(({ id, name }) => [id, name]));
  for (const line of table(found.map((alert) => rowOf(alert, names)))) cli.terminal.data(line);
}

/**
 * Adds an alert rule for the selected service. With `all`, or if no service is selected, the rule applies to every
 * service.
 */
export async function add(
  cli: Cli,
  metric: string,
  options: { above: number; for: number; all?: boolean },
): Promise<void> {
  const service = options.all === true ? null : await cli.namedService();
  const body = {
    metric,
    above: options.above,
    forMinutes: Math.ceil(options.for / MINUTE_MS),
    serviceId: service?.id,
  };
  const { alert } = await (await cli.client()).write<{ alert: Alert }>('POST', PATH, body);
  if (cli.json) return cli.terminal.json({ alert });
  cli.terminal.data(alert.id);
  cli.terminal.say(`The rule is for ${service === null ? 'every service' : oneLine(service.name)}`);
}

export async function remove(cli: Cli, id: string): Promise<void> {
  const api = await cli.client();
  const found = (await list(api)).filter((alert) => alert.id.endsWith(id));
  const [alert] = found;
  if (alert === undefined || found.length > 1) {
    throw new CliError(EXIT.notFound, `The workspace has no alert rule ${id}, or several; see rnv alerts`);
  }
  await api.write('DELETE', `${PATH}/${alert.id}`);
  cli.printOutcome({ deleted: true }, `Removed ${alert.id}`);
}

async function list(api: ApiClient): Promise<Alert[]> {
  return (await api.get<{ alerts: Alert[] }>(`${PATH}?limit=100`)).alerts;
}

function rowOf(alert: Alert, names: ReadonlyMap<string, string>): string[] {
  const { id, metric, above, forMinutes, serviceId } = alert;
  const bound = `${metric === 'certificate' ? 'below' : 'above'} ${above}${UNITS[metric] ?? ' %'}`;
  const scope = serviceId === null ? 'every service' : oneLine(names.get(serviceId) ?? serviceId);
  return [shortId(id), metric, bound, `${forMinutes} min`, scope, statusOf(alert)];
}

function statusOf({ states }: Alert): string {
  const firing = states.filter(({ status }) => status === 'firing');
  if (firing.length > 0) {
    const shown = firing.map(({ serviceName, value }) => `${oneLine(serviceName)} (${value})`);
    return `firing: ${shown.join(', ')}`;
  }
  return ['pending', 'ok'].find((status) => states.some((state) => state.status === status)) ?? 'unknown';
}
