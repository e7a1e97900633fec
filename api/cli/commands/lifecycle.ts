import type { ApiClient } from '../api-client.js';
import type { Deployment, Operation, Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { ago, oneLine, seconds, shortId, shortSha, table } from '../terminal-text.js';
import { waitUntil } from '../wait-until.js';
import { findDeployment } from './deploy.js';
import type { WaitOptions } from './wait-options.js';

const POLL_INTERVAL_MS = 500;

/** Lists the newest deployments with their short ids, which rollback, cancel and logs accept. */
export async function deployments(cli: Cli, options: { lines: number }): Promise<void> {
  const api = await cli.client();
  const service = await cli.service();
  const limit = Math.min(200, Math.max(1, options.lines));
  const { items } = await api.get<{ items: Deployment[] }>(`/services/${service.id}/deploys?limit=${limit}`);
  if (cli.json) return cli.terminal.json({ deployments: items });
  const rows = items.map((deployment) => [
    shortId(deployment.id),
    deployment.id === service.liveDeploymentId ? 'live now' : deployment.status,
    shortSha(deployment.commitSha),
    `${ago(Date.now() - Date.parse(deployment.createdAt))} ago`,
    oneLine(deployment.blockedReason || deployment.commitMessage),
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Cancels the given deployment, or the oldest unfinished one. Exit code 6 if there is none. */
export async function cancel(cli: Cli, text: string | undefined): Promise<void> {
  await endOpen(cli, text, 'cancel', 'is being cancelled');
}

/** Ends the canary of the given deployment, or of the oldest unfinished one. All visitors then get its release. */
export async function promote(cli: Cli, text: string | undefined): Promise<void> {
  await endOpen(cli, text, 'promote', 'goes live: all visitors get it');
}

async function endOpen(cli: Cli, text: string | undefined, action: 'cancel' | 'promote', says: string): Promise<void> {
  const api = await cli.client();
  const service = await cli.service();
  const path = `/services/${service.id}/deploys`;
  const open = text === undefined ? await openDeployment(api, path) : await findDeployment(api, service.id, text);
  if (!open) throw new CliError(EXIT.conflict, `${service.name} has no deployment that runs or waits`);
  await api.write('POST', `${path}/${open.id}/${action}`);
  if (cli.json) return cli.terminal.json({ deployment: { id: open.id } });
  cli.terminal.say(`The deployment ${shortId(open.id)} of ${oneLine(service.name)} ${says}`);
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

/**
 * Restarts, suspends or resumes a service, and waits for the operation. Exit code 20 if it failed, 22 after the
 * timeout.
 */
export async function act(cli: Cli, action: Action, options: Omit<WaitOptions, 'verbose'>): Promise<void> {
  const api = await cli.client();
  const service = await cli.service();
  if (action === 'suspend') await cli.confirm(`Suspend ${service.name}? Its URL then shows an error page`);
  const { operation } = await api.write<{ operation: Operation }>('POST', `/services/${service.id}/actions`, {
    action,
  });
  const ended = options.detach ? operation : await operationEnded(cli, api, service, operation, options.timeout);
  if (cli.json) return cli.terminal.json({ operation: ended });
  cli.terminal.say(options.detach ? `The ${action} is queued` : `${oneLine(service.name)} ${DONE[action]}`);
}

/**
 * Waits until an operation is finished. Exit code 20 if it failed, 22 after the timeout (in milliseconds); the
 * operation then continues.
 */
export async function operationEnded(
  cli: Cli,
  api: ApiClient,
  { id: serviceId }: Service,
  { id, kind }: Operation,
  timeout: number,
): Promise<Operation> {
  const late = () => new CliError(EXIT.timedOut, `After ${seconds(timeout)} the ${kind} has not ended. It continues`);
  return waitUntil(cli, { timeout, late, intervalMs: POLL_INTERVAL_MS }, async (elapsed) => {
    const { operation } = await api.once<{ operation: Operation }>('GET', `/services/${serviceId}/operations/${id}`);
    if (operation.status === 'succeeded') return operation;
    if (operation.status === 'failed') throw new CliError(EXIT.failed, `The ${kind} failed. See rnv logs`);
    cli.terminal.progress(`  ${kind}  ${operation.status}  ${seconds(elapsed)}`);
    return undefined;
  });
}
