import { keepVisiting, type Visits } from '../chaos/load.js';
import { nodeServer } from '../support/apps.js';
import type { ApiClient } from '../support/client.js';
import { createService, deploy, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';

/** A workspace whose service gets ten requests per second and is deployed again and again. */
export class OrdinaryTenant {
  readonly service: Service;
  readonly durations: Record<'quiet' | 'attacked', number[]> = { quiet: [], attacked: [] };
  readonly failures: string[] = [];
  readonly #client: ApiClient;
  readonly #repository: TestRepository;
  readonly #stop = new AbortController();
  readonly #visiting: Promise<Visits>;

  private constructor(platform: Platform, client: ApiClient, service: Service, repository: TestRepository) {
    this.service = service;
    this.#client = client;
    this.#repository = repository;
    this.#visiting = keepVisiting([service], platform.edgePort, this.#stop.signal);
  }

  static async begin(platform: Platform, client: ApiClient): Promise<OrdinaryTenant> {
    const repository = await createPlatformRepository(nodeServer('ordinary'));
    const service = await createService(client, {
      name: 'ordinary',
      configuration: { repository: repository.url, plan: 'standard' },
    });
    await deploy(client, service.id);
    return new OrdinaryTenant(platform, client, service, repository);
  }

  async deploy(when: keyof OrdinaryTenant['durations']): Promise<void> {
    const begun = Date.now();
    try {
      await deploy(this.#client, this.service.id);
      this.durations[when].push(Date.now() - begun);
    } catch (error) {
      this.failures.push(String(error));
    }
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#visiting;
  }

  visits(): Promise<Visits> {
    return this.#visiting;
  }

  async removeRepository(): Promise<void> {
    await this.#repository.remove();
  }
}
