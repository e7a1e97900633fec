import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../chaos/random.js';
import { type ApiClient, visit } from '../support/client.js';
import { createService, queueDeploy, readDeployment, type Service } from '../support/deployments.js';
import { rawRequest } from '../support/http.js';
import { createPlatformRepository, type Files, type TestRepository } from '../support/repositories.js';

/** A way to harm others. It ends by itself after a short time, or when the signal aborts. */
export interface Behaviour {
  name: string;
  act(tenant: HostileTenant, signal: AbortSignal): Promise<void>;
}

const ENDED = ['live', 'failed', 'cancelled'];
const POLL_MS = 500;
const DEPLOYMENT_MS = 60_000;

/** A hostile workspace. It knows the URL of an ordinary service. */
export class HostileTenant {
  readonly client: ApiClient;
  readonly random: Random;
  readonly apiPort: number;
  readonly edgePort: number;
  readonly victim: Service;
  readonly #repositories: TestRepository[] = [];
  #count = 0;

  constructor(init: Pick<HostileTenant, 'client' | 'random' | 'apiPort' | 'edgePort' | 'victim'>) {
    this.client = init.client;
    this.random = init.random;
    this.apiPort = init.apiPort;
    this.edgePort = init.edgePort;
    this.victim = init.victim;
  }

  /** Deploys these files as a new service, and deletes it at the end. The deployment may fail. */
  async host(
    files: Files,
    configuration: object,
    signal: AbortSignal,
    meanwhile: (service: Service) => Promise<void> = async () => undefined,
    before: (service: Service) => Promise<unknown> = async () => undefined,
  ): Promise<void> {
    const repository = await createPlatformRepository(files);
    this.#repositories.push(repository);
    this.#count += 1;
    const service = await createService(this.client, {
      name: `hostile ${this.#count}`,
      configuration: { repository: repository.url, timeoutSeconds: 20, ...configuration },
    });
    await before(service);
    const { id } = await queueDeploy(this.client, service.id);
    const deadline = Date.now() + DEPLOYMENT_MS;
    let status = 'queued';
    while (!ENDED.includes(status) && Date.now() < deadline && !signal.aborted) {
      await delay(POLL_MS);
      status = (await readDeployment(this.client, service.id, id)).status;
    }
    if (status === 'live') await meanwhile(service);
    await this.client.call('DELETE', `/services/${service.id}`, { confirm: service.name });
  }

  /** Sends a request. Any answer, or none within ten seconds, is accepted. */
  async visit(service: Service, path = '/'): Promise<void> {
    await Promise.race([
      visit(service.url, this.edgePort, path).catch(() => undefined),
      delay(10_000, undefined, { ref: false }),
    ]);
  }

  async answerOf(
    { url }: Service,
    headers: Record<string, string>,
    path = '/',
    withinMs = 20_000,
  ): Promise<string | null> {
    const asked = rawRequest(`http://127.0.0.1:${this.edgePort}${path}`, {
      headers: { host: new URL(url).host, ...headers },
    });
    return Promise.race([
      asked.then(
        ({ body }) => body,
        () => null,
      ),
      delay(withinMs, null, { ref: false }),
    ]);
  }

  async removeRepositories(): Promise<void> {
    for (const repository of this.#repositories) await repository.remove();
  }
}
