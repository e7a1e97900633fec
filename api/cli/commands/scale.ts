import type { Metrics, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { count, oneLine, table } from '../terminal-text.js';

export interface ScaleOptions {
  plan?: string;
  min?: number;
  max?: number;
}

export async function ps(cli: Cli): Promise<void> {
  const { api, service, path } = await cli.ofService('metrics');
  const { metrics } = await api.get<{ metrics: Metrics }>(`${path}?hours=1`);
  const newest = (name: string) => metrics.series.find((series) => series.name === name)?.points.at(-1)?.[1] ?? null;
  const seen = { replicas: newest('replicas'), cpu: newest('cpu'), memory: newest('memory') };
  const { plan, replicas, scaling, minReplicas, maxReplicas } = service.configuration;
  if (cli.json) {
    const { id, name, kind, status, healthStatus, runtimeDetail } = service;
    const wanted = { plan, replicas, scaling, minReplicas, maxReplicas };
    return cli.terminal.json({ service: { id, name, kind, status, healthStatus, runtimeDetail }, wanted, seen });
  }
  const unit = (name: string) => metrics.series.find((series) => series.name === name)?.unit ?? '';
  const rows = [
    ['status', service.status === 'live' ? service.healthStatus : service.displayStatus],
    ['replicas', scaling === 'auto' ? `${minReplicas} to ${maxReplicas}, scaled by use` : String(replicas)],
    ['plan', plan],
    ...(seen.replicas === null ? [] : [['running', String(seen.replicas)]]),
    ...(seen.cpu === null ? [] : [['cpu', `${figure(seen.cpu)} ${unit('cpu')}`]]),
    ...(seen.memory === null ? [] : [['memory', `${figure(seen.memory)} ${unit('memory')}`]]),
    ...(service.runtimeDetail === '' ? [] : [['detail', oneLine(service.runtimeDetail)]]),
  ];
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Changes a service's replicas, limits of scaling, or plan. Throws with exit code 2 if no change is given. */
export async function scale(cli: Cli, replicas: number | undefined, { plan, min, max }: ScaleOptions): Promise<void> {
  if (replicas !== undefined && (min !== undefined || max !== undefined))
    throw new CliError(EXIT.usage, 'Give a number of replicas, or --min and --max to scale by use');
  const configuration = {
    ...(replicas === undefined ? {} : { scaling: 'manual', replicas }),
    ...(min === undefined && max === undefined ? {} : { scaling: 'auto' }),
    ...(min === undefined ? {} : { minReplicas: min }),
    ...(max === undefined ? {} : { maxReplicas: max }),
    ...(plan === undefined ? {} : { plan }),
  };
  if (Object.keys(configuration).length === 0)
    throw new CliError(EXIT.usage, 'Give a number of replicas, --min and --max, or --plan; rnv ps shows what there is');
  const api = await cli.client();
  const { id } = await cli.service();
  const { service } = await api.write<{ service: Service }>('PATCH', `/services/${id}`, { configuration });
  const now = service.configuration;
  const many =
    now.scaling === 'auto'
      ? `${now.minReplicas} to ${now.maxReplicas} replicas, scaled by use`
      : count(now.replicas, 'replica');
  const next = plan === undefined ? '' : ' The plan acts with the next deployment: rnv deploy';
  cli.printOutcome({ service }, `${oneLine(service.name)}: ${many} of the plan ${now.plan}.${next}`);
}

function figure(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
