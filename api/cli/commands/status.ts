import { spawn } from 'node:child_process';
import type { ApiClient } from '../api-client.js';
import type { Deployment, Service, WorkspaceDeployment } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { ago, oneLine, printable, shortSha, table } from '../terminal-text.js';
import { deployments } from './deploy.js';
import { projectsOf } from './projects.js';

const NO_SERVICES = 'The workspace has no services yet. Deploy this folder with rnv up';

/** Prints a line for each service, or only for the service given by --service. */
export async function status(cli: Cli): Promise<void> {
  const api = await cli.client();
  const one = cli.options.service === undefined ? null : await cli.service();
  const services = one ? [one] : (await cli.services()).filter(({ archived }) => !archived);
  const [open, recent] = await Promise.all([
    openDeployments(api),
    api.get<{ items: WorkspaceDeployment[] }>('/deploys?limit=200'),
  ]);
  const live = await liveDeployments(api, services, recent.items);
  if (cli.json) {
    const items = services.map((service) => ({
      ...briefOf(service),
      healthStatus: service.healthStatus,
      live: live.get(service.id) ?? null,
      active: open.get(service.id) ?? null,
    }));
    return cli.terminal.json({ services: items });
  }
  if (services.length === 0) return cli.terminal.say(NO_SERVICES);
  const places = await placesOf(cli, services);
  const rows = services.map((service) => [
    oneLine(service.name),
    ...(places.size === 0 ? [] : [places.get(service.environmentId ?? '') ?? '']),
    ...rowOf(service, open.get(service.id), live.get(service.id)),
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

export async function services(cli: Cli): Promise<void> {
  const all = await cli.services();
  const rows = all.map((service) => [
    oneLine(service.name),
    service.kind,
    service.archived ? 'archived' : service.displayStatus,
    service.id,
    service.url,
  ]);
  cli.printRows({ services: all }, rows, NO_SERVICES);
}

/**
 * Opens the service's URL in the browser, and prints it. Without a terminal, only prints it. With --console, the URL is
 * that of the service's page in the console, or of the workspace's page if no service is selected.
 */
export async function open(cli: Cli, options: { console?: boolean }): Promise<void> {
  const api = await cli.client();
  const service = options.console ? await cli.namedService() : await cli.service();
  const page = `${api.url}/w/${api.workspaceId}${service === null ? '' : `/s/${service.id}`}`;
  const url = options.console ? page : (service?.url ?? '');
  if (cli.json) return cli.terminal.json({ url });
  if (url === '')
    throw new CliError(
      EXIT.conflict,
      `${service?.name} is of kind ${service?.kind} and has no URL. Use --console to open its page`,
    );
  cli.terminal.data(url);
  if (!cli.terminal.showsData) return;
  const [file, ...args] = openerOf(process.platform);
  const child = spawn(file, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}

/** Returns service id → its oldest unfinished deployment, which runs now while newer ones wait. */
async function openDeployments(api: ApiClient): Promise<Map<string, WorkspaceDeployment>> {
  const open = new Map<string, WorkspaceDeployment>();
  // The list is newest first, so the last entry of a service wins.
  for await (const deployment of deployments<WorkspaceDeployment>(api, '/deploys?active=true&limit=200')) {
    open.set(deployment.serviceId, deployment);
  }
  return open;
}

async function liveDeployments(
  api: ApiClient,
  services: readonly Service[],
  recent: readonly WorkspaceDeployment[],
): Promise<Map<string, Deployment>> {
  const known = new Map(recent.map((deployment) => [deployment.id, deployment]));
  const found = new Map<string, Deployment>();
  for (const { id, liveDeploymentId } of services) {
    if (liveDeploymentId === null) continue;
    const deployment =
      known.get(liveDeploymentId) ??
      (await api.get<{ deployment: Deployment }>(`/services/${id}/deploys/${liveDeploymentId}`)).deployment;
    found.set(id, deployment);
  }
  return found;
}

async function placesOf(cli: Cli, services: readonly Service[]): Promise<Map<string, string>> {
  if (services.every(({ environmentId }) => environmentId === null)) return new Map();
  const projects = await projectsOf(cli);
  return new Map(
    projects.flatMap((project) =>
      project.environments.map(({ id, name }) => [id, oneLine(`${project.name}/${name}`)] as const),
    ),
  );
}

/** The replicas of a `frozen` service keep their memory; a service that is `asleep` has no replicas. */
function restingOf({ asleepSince, frozen, status }: Service): string {
  if (asleepSince === undefined) return status.replace('_', ' ');
  return frozen ? 'frozen' : 'asleep';
}

function rowOf(service: Service, open: Deployment | undefined, live: Deployment | undefined): string[] {
  const head = [service.kind];
  if (open?.blockedReason) return [...head, 'waiting', oneLine(open.blockedReason)];
  const running = open?.steps.find(({ finishedAt }) => finishedAt === null);
  if (open)
    return [
      ...head,
      'deploying',
      running ? `${running.name} ${ago(Date.now() - Date.parse(running.startedAt))}` : open.status,
    ];
  const unhealthy = service.status === 'live' && service.healthStatus === 'unhealthy';
  const state = unhealthy ? 'unhealthy' : restingOf(service);
  if (!live) return [...head, state];
  const age = ago(Date.now() - Date.parse(live.finishedAt ?? live.createdAt));
  return [...head, state, shortSha(live.commitSha), age, unhealthy ? printable(service.runtimeDetail) : service.url];
}

function briefOf({ id, name, kind, status, url }: Service): Pick<Service, 'id' | 'name' | 'kind' | 'status' | 'url'> {
  return { id, name, kind, status, url };
}
