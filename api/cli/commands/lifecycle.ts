import type { ApiClient } from '../api-client.js';
import type { Deployment, Operation, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { ago, oneLine, shortId, shortSha } from '../terminal-text.js';
import { recordEnded, type WaitOptions } from '../wait-until.js';
import { findDeployment } from './deploy.js';

export async function deployments(cli: Cli, options: { lines: number }): Promise<void> {
  const { api, service, path } = await cli.ofService('deploys');
  const limit = Math.min(200, Math.max(1, options.lines));
  const { items } = await api.get<{ items: Deployment[] }>(`${path}?limit=${limit}`);
  const rows = items.map((deployment) => [
    shortId(deployment.id),
    deployment.id === service.liveDeploymentId ? 'live now' : deployment.status,
    shortSha(deployment.commitSha),
    `${ago(Date.now() - Date.parse(deployment.createdAt))} ago`,
    oneLine(deployment.blockedReason || deployment.commitMessage),
  ]);
  cli.printRows({ deployments: items }, rows);
}

/** Cancels the given deployment, or the oldest unfinished one. Throws with exit code 6 if there is none. */
export async function cancel(cli: Cli, text: string | undefined): Promise<void> {
  await endOpen(cli, text, 'cancel', 'is being cancelled');
}

/** Ends the canary of the given deployment, or of the oldest unfinished one. All visitors then get the new release. */
export async function promote(cli: Cli, text: string | undefined): Promise<void> {
  await endOpen(cli, text, 'promote', 'goes live: all visitors get it');
}

async function endOpen(cli: Cli, text: string | undefined, action: 'cancel' | 'promote', says: string): Promise<void> {
  const { api, service, path } = await cli.ofService('deploys');
  const open = text === undefined ? await openDeployment(api, path) : await findDeployment(api, service.id, text);
  if (!open) throw new CliError(EXIT.conflict, `${service.name} has no deployment that runs or waits`);
  await api.write('POST', `${path}/${open.id}/${action}`);
  const outcome = `The deployment ${shortId(open.id)} of ${oneLine(service.name)} ${says}`;
  cli.printOutcome({ deployment: { id: open.id } }, outcome);
}

async function openDeployment(api: ApiClient, path: string): Promise<Deployment | undefined> {
  const { items } = await api.get<{ items: Deployment[] }>(`${path}?limit=200`);
  return items.findLast(({ finishedAt }) => finishedAt === null);
}

export type Action = 'restart' | 'suspend' | 'resume';
const DONE: Readonly<Record<Action, string>> = {
  restart: 'has new replicas',
  suspend: 'is suspended: nothing of it runs',
  resume: 'runs again',
};

/** Restarts, suspends or resumes a service. Throws with exit code 20 if that failed, and with 22 after the timeout. */
export async function act(cli: Cli, action: Action, options: WaitOptions): Promise<void> {
  const { api, service, path } = await cli.ofService('actions');
  if (action === 'suspend') await cli.confirm(`Suspend ${service.name}? Its URL then shows an error page`);
  const { operation } = await api.write<{ operation: Operation }>('POST', path, { action });
  const ended = options.detach ? operation : await operationEnded(cli, api, service, operation, options.timeout);
  const outcome = options.detach ? `The ${action} is queued` : `${oneLine(service.name)} ${DONE[action]}`;
  cli.printOutcome({ operation: ended }, outcome);
}

/**
 * Waits for an operation to finish. Throws with exit code 20 if it failed, and with 22 after `timeout` milliseconds.
 */
export function operationEnded(
  cli: Cli,
  api: ApiClient,
  { id: serviceId }: Service,
  { id, kind }: Operation,
  timeout: number,
): Promise<Operation> {
  const path = `/services/${serviceId}/operations/${id}`;
  const why = () => `The ${kind} failed. See rnv logs`;
  const read = async () => (await api.once<{ operation: Operation }>('GET', path)).operation;
  return recordEnded(cli, { what: kind, why, timeout }, read);
}
