import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type ApiClient, visit } from '../support/client.js';
import type { Deployment, Service } from '../support/deployments.js';
import type { Random } from './random.js';

/** Answers that the API has given. At the end of a run, the database must agree with them. */
export class Promises {
  readonly deployments = new Set<string>();
  readonly operations = new Map<string, string>();
  readonly deletedServices = new Set<string>();
  readonly cancelled = new Set<string>();
  readonly counts = new Map<string, number>();
  /** Retries with the same idempotency key that made a second deployment. */
  readonly broken: string[] = [];

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

export interface Tenant {
  client: ApiClient;
  services: Service[];
  cron: Service;
}

/** The command lasts long enough that a worker is killed meanwhile. */
const GIVEN_COMMAND = `echo "run $RANVIER_RUN_ID"; sleep 5`;
const RETRY_MS = 200;
/** On a slow machine, PostgreSQL and the API together need over a minute to start again. */
const GIVE_UP_MS = 600_000;
const VISIT_MS = 100;

/** Sends a request, and repeats it with the same idempotency key until there is an answer. */
export async function insist<T>(client: ApiClient, method: string, path: string, body: unknown): Promise<Answer<T>> {
  const key = randomUUID();
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    try {
      const answer = await client.call<T>(method, path, body, { 'idempotency-key': key });
      if (answer.status < 500 && !isUnavailable(answer)) return answer;
    } catch {
      // There is no answer while the API restarts.
    }
    if (Date.now() > deadline) throw new Error(`no answer to ${method} ${path}`);
    await delay(RETRY_MS);
  }
}

function isUnavailable(answer: Answer<unknown>): boolean {
  return (answer.body as { error?: { code?: string } }).error?.code === 'engine_unavailable';
}

/** Simulates one tenant until it has made its deployments. Its first service is only deployed, so it stays live. */
export async function work(
  tenant: Pick<Tenant, 'client' | 'services'>,
  random: Random,
  deployments: number,
  promises: Promises,
): Promise<void> {
  const { client, services } = tenant;
  for (let made = 0; made < deployments; ) {
    const deployed = random.pick(services);
    const service = random.pick(services.slice(1));
    const path = `/services/${service.id}`;
    const choice = random.between(1, 100);
    if (choice <= 62) made += await queue(client, `/services/${deployed.id}/deploys`, {}, promises, 'deploy');
    else if (choice <= 76) await cancel(client, service, promises);
    else if (choice <= 84) made += await rollback(client, service, promises);
    else if (choice <= 92) await runCommand(client, services[0], promises);
    else await act(client, path, random.pick(['restart', 'suspend', 'resume']), promises);
    await delay(random.between(200, 1200));
  }
}

async function queue(client: ApiClient, path: string, body: object, promises: Promises, what: string): Promise<number> {
  const answer = await insist<{ deployment?: Deployment }>(client, 'POST', path, body);
  promises.count(`${what} ${answer.status}`);
  const id = answer.body.deployment?.id;
  if (!id) return 0;
  if (promises.deployments.has(id)) promises.broken.push(`deployment ${id} was answered to two keys`);
  promises.deployments.add(id);
  return 1;
}

/** Starts a run of a command in a service that stays live. */
export async function runCommand(
  client: ApiClient,
  service: Service | undefined,
  promises: Promises,
  command = GIVEN_COMMAND,
): Promise<void> {
  if (service === undefined) return;
  const { status } = await insist(client, 'POST', `/services/${service.id}/runs`, { command });
  promises.count(`run ${status}`);
}

async function recent(client: ApiClient, service: Service): Promise<Deployment[]> {
  const answer = await insistRead<{ items: Deployment[] }>(client, `/services/${service.id}/deploys?limit=5`);
  return answer.items ?? [];
}

async function insistRead<T>(client: ApiClient, path: string): Promise<T> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    try {
      const answer = await client.call<T>('GET', path);
      if (answer.status < 500) return answer.body;
    } catch {}
    if (Date.now() > deadline) throw new Error(`no answer to GET ${path}`);
    await delay(RETRY_MS);
  }
}

async function cancel(client: ApiClient, service: Service, promises: Promises): Promise<void> {
  const open = (await recent(client, service)).find(
    (deployment) => !['live', 'failed', 'cancelled'].includes(deployment.status),
  );
  if (!open) return;
  const answer = await insist(client, 'POST', `/services/${service.id}/deploys/${open.id}/cancel`, {});
  promises.count(`cancel ${answer.status}`);
  if (answer.status === 200) promises.cancelled.add(open.id);
}

async function rollback(client: ApiClient, service: Service, promises: Promises): Promise<number> {
  const source = (await recent(client, service)).findLast((deployment) => deployment.canRollback);
  if (!source) return 0;
  const path = `/services/${service.id}/deploys/${source.id}/rollback`;
  return queue(client, path, { confirm: service.name }, promises, 'rollback');
}

async function act(client: ApiClient, path: string, action: string, promises: Promises): Promise<void> {
  const answer = await insist<{ operation?: { id: string } }>(client, 'POST', `${path}/actions`, { action });
  promises.count(`${action} ${answer.status}`);
  if (answer.body.operation) promises.operations.set(answer.body.operation.id, path);
}

/** Deletes a service, and records what the API has promised. */
export async function remove(client: ApiClient, service: Service, promises: Promises): Promise<void> {
  const path = `/services/${service.id}`;
  const answer = await insist<{ operation: { id: string } | null }>(client, 'DELETE', path, { confirm: service.name });
  promises.count(`delete ${answer.status}`);
  if (answer.body.operation) promises.operations.set(answer.body.operation.id, path);
  promises.deletedServices.add(service.id);
}

/** A request without an answer, or with the answer of another service; times in milliseconds. */
export interface Failure {
  serviceId: string;
  what: string;
  begun: number;
  ended: number;
}

export interface Visits {
  answered: number;
  failures: Failure[];
}

/** Sends requests to services that stay live. Each answer must be from the right service. */
export async function keepVisiting(services: readonly Service[], edgePort: number, stop: AbortSignal): Promise<Visits> {
  const visits: Visits = { answered: 0, failures: [] };
  const visitor = async (service: Service) => {
    while (!stop.aborted) {
      const begun = Date.now();
      const answer = await visit(service.url, edgePort).catch((error: Error) => ({ status: 0, body: error.message }));
      const what = `${service.name}: ${answer.status} ${answer.body.slice(0, 120)}`;
      if (answer.status === 200) visits.answered += 1;
      else visits.failures.push({ serviceId: service.id, what, begun, ended: Date.now() });
      await delay(VISIT_MS);
    }
  };
  await Promise.all(services.map(visitor));
  return visits;
}
