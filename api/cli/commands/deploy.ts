import type { ApiClient } from '../api-client.js';
import type { Deployment, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { type FollowOptions, followUnlessDetached } from '../follow-deployment.js';
import { ago, oneLine, shortId, shortSha } from '../terminal-text.js';

export interface DeployOptions extends FollowOptions {
  branch?: string;
  commit?: string;
  clearCache?: boolean;
}

export async function deploy(cli: Cli, options: DeployOptions): Promise<void> {
  const { api, service, path } = await cli.ofService('deploys');
  const { branch, commit: commitSha, clearCache } = options;
  const { deployment } = await api.write<{ deployment: Deployment }>('POST', path, { branch, commitSha, clearCache });
  const what = commitSha === undefined ? deployment.branch : shortSha(commitSha);
  cli.terminal.say(`Deploying ${oneLine(service.name)}${what === '' ? '' : ` from ${what}`}`);
  await followUnlessDetached(cli, service, deployment.id, options);
}

/** Rolls back to the given deployment, or else to the deployment before the live one. */
export async function rollback(cli: Cli, text: string | undefined, options: FollowOptions): Promise<void> {
  const { api, service, path } = await cli.ofService('deploys');
  const source = text === undefined ? await previous(api, service) : await findDeployment(api, service.id, text);
  const commit = source.commitSha === '' ? '' : ` ${shortSha(source.commitSha)} "${oneLine(source.commitMessage)}"`;
  const age = ago(Date.now() - Date.parse(source.createdAt));
  await cli.confirm(`Roll ${service.name} back to ${shortId(source.id)}${commit}, ${age} old?`);
  const body = { confirm: service.name };
  const { deployment } = await api.write<{ deployment: Deployment }>('POST', `${path}/${source.id}/rollback`, body);
  cli.terminal.say(`Rolling ${oneLine(service.name)} back to ${shortId(source.id)}${commit}`);
  await followUnlessDetached(cli, service, deployment.id, options);
}

async function previous(api: ApiClient, service: Service): Promise<Deployment> {
  for await (const deployment of deployments<Deployment>(api, listOf(service.id))) {
    const older = service.liveDeploymentId === null || deployment.id < service.liveDeploymentId;
    if (older && deployment.canRollback && deployment.id !== service.liveDeploymentId) return deployment;
  }
  throw new CliError(EXIT.conflict, `${service.name} has no earlier release to roll back to`);
}

/**
 * Returns the deployment whose id ends with this text. Throws with exit code 5 if there is none, and with 2 if there
 * are several.
 */
export async function findDeployment(api: ApiClient, serviceId: string, text: string): Promise<Deployment> {
  const wanted = text.toLowerCase();
  if (!/^[0-9a-f-]{4,36}$/.test(wanted)) throw new CliError(EXIT.usage, `"${text}" is not the end of a deployment id`);
  const found: Deployment[] = [];
  for await (const deployment of deployments<Deployment>(api, listOf(serviceId))) {
    if (deployment.id === wanted) return deployment;
    if (deployment.id.endsWith(wanted)) found.push(deployment);
  }
  const [first, second] = found;
  if (second) throw new CliError(EXIT.usage, `Several deployments end with ${text}. Use more characters of the id`);
  if (first) return first;
  throw new CliError(EXIT.notFound, `This service has no deployment ${text}`);
}

const listOf = (serviceId: string) => `/services/${serviceId}/deploys?limit=200`;

const MAX_PAGES = 10;

/** Reads the deployments at a path with a query, page by page, newest first. */
export async function* deployments<Item extends Deployment>(api: ApiClient, path: string): AsyncGenerator<Item> {
  let cursor = '';
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await api.get<{ items: Item[]; page: { nextCursor: string | null } }>(path + cursor);
    yield* answer.items;
    if (answer.page.nextCursor === null) return;
    cursor = `&cursor=${encodeURIComponent(answer.page.nextCursor)}`;
  }
}
