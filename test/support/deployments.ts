import type { ApiClient } from './client.js';
import { eventually } from './processes.js';

export interface Service {
  id: string;
  name: string;
  url: string;
  status: string;
  healthStatus: string;
  runtimeDetail: string;
  asleepSince?: string;
  frozen?: boolean;
  lastSleep?: { from: string; until: string };
  lifecycleStatus: string;
  liveDeploymentId: string | null;
  deploymentId: string | null;
}

export interface Deployment {
  id: string;
  status: string;
  error: string;
  blockedReason: string;
  commitSha: string;
  commitMessage: string;
  canRollback: boolean;
  cancelRequested: boolean;
  sourceDeploymentId: string | null;
  trigger: string;
  finishedAt: string | null;
  steps: { name: string; startedAt: string; finishedAt: string | null }[];
}

export interface LogItem {
  id: number;
  level: string;
  message: string;
  source: string;
}

const ENDED = ['live', 'failed', 'cancelled'];
/** Polling interval for the end of a deployment. It can be long, because an ended deployment stays ended. */
const END_PAUSE_MS = 250;

export async function createService(
  client: ApiClient,
  input: {
    name: string;
    kind?: string;
    projectId?: string;
    environmentId?: string | undefined;
    configuration: object;
    variables?: { key: string; value: string }[];
  },
): Promise<Service> {
  const { service } = await client.expect<{ service: Service }>('POST', '/services', { kind: 'web', ...input });
  return service;
}

export async function readService(client: ApiClient, id: string): Promise<Service> {
  return (await client.expect<{ service: Service }>('GET', `/services/${id}`)).service;
}

export async function queueDeploy(client: ApiClient, serviceId: string, body: object = {}): Promise<Deployment> {
  return (await client.expect<{ deployment: Deployment }>('POST', `/services/${serviceId}/deploys`, body)).deployment;
}

export async function readDeployment(client: ApiClient, serviceId: string, id: string): Promise<Deployment> {
  return (await client.expect<{ deployment: Deployment }>('GET', `/services/${serviceId}/deploys/${id}`)).deployment;
}

export async function ended(client: ApiClient, serviceId: string, id: string, withinMs = 180_000): Promise<Deployment> {
  return eventually(
    `deployment ${id} ends`,
    async () => {
      const deployment = await readDeployment(client, serviceId, id);
      if (ENDED.includes(deployment.status)) return deployment;
      throw new Error(`it is ${deployment.status} ${deployment.blockedReason}`);
    },
    withinMs,
    END_PAUSE_MS,
  );
}

/** Deploys a service. Throws unless the deployment goes live. */
export async function deploy(client: ApiClient, serviceId: string, body: object = {}): Promise<Deployment> {
  const queued = await queueDeploy(client, serviceId, body);
  const deployment = await ended(client, serviceId, queued.id);
  if (deployment.status !== 'live') {
    const log = (await readLogs(client, serviceId)).map((line) => line.message).join('\n');
    throw new Error(`the deployment ended ${deployment.status}: ${deployment.error}\n${log}`);
  }
  return deployment;
}

export async function readLogs(client: ApiClient, serviceId: string, query = ''): Promise<LogItem[]> {
  const items: LogItem[] = [];
  for (let after = 0; ; ) {
    const page = await client.expect<{ items: LogItem[]; cursor: number; hasMore: boolean }>(
      'GET',
      `/services/${serviceId}/logs?after=${after}${query}`,
    );
    items.push(...page.items);
    after = page.cursor;
    if (!page.hasMore) return items;
  }
}

/** Starts an action. Returns the status of its operation once it has ended. */
export async function act(client: ApiClient, serviceId: string, action: string): Promise<string> {
  const { operation } = await client.expect<{ operation: { id: string } }>('POST', `/services/${serviceId}/actions`, {
    action,
  });
  return operationEnded(client, serviceId, operation.id);
}

export async function operationEnded(client: ApiClient, serviceId: string, id: string): Promise<string> {
  return eventually(
    `operation ${id} ends`,
    async () => {
      const { operation } = await client.expect<{ operation: { status: string } }>(
        'GET',
        `/services/${serviceId}/operations/${id}`,
      );
      if (['succeeded', 'failed'].includes(operation.status)) return operation.status;
      throw new Error(`it is ${operation.status}`);
    },
    180_000,
    END_PAUSE_MS,
  );
}
