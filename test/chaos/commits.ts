import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ApiClient } from '../support/client.js';
import { createService, type Service } from '../support/deployments.js';
import { deliver, type Hook } from '../support/hook-delivery.js';
import type { Platform } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import type { ChaosTarget } from './chaos-target.js';
import type { Entry } from './entries.js';
import type { Promises } from './load.js';

const run = promisify(execFile);
const RETRY_MS = 500;
const GIVE_UP_MS = 600_000;
const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };

interface Source {
  service: Service;
  repository: TestRepository;
  accepted: string[];
}

/** Sends commits to the platform during faults: by `git push`, and by deliveries to an incoming webhook. */
export class Commits {
  readonly #platform: Platform;
  readonly #client: ApiClient;
  readonly #pushed: Source;
  readonly #hooked: Source & { hook: Hook };

  private constructor(platform: Platform, client: ApiClient, pushed: Source, hooked: Source & { hook: Hook }) {
    this.#platform = platform;
    this.#client = client;
    this.#pushed = pushed;
    this.#hooked = hooked;
  }

  static async start(target: ChaosTarget, client: ApiClient): Promise<Commits> {
    const source = async (name: string, configuration: object): Promise<Source> => {
      const repository = await createPlatformRepository(target.app);
      const repositoryUrl = 'sourceType' in configuration ? {} : { repository: repository.url };
      const settings = { ...target.configuration, ...configuration, ...repositoryUrl };
      const service = await createService(client, { name, configuration: settings });
      return { service, repository, accepted: [] };
    };
    const pushed = await source('pushed', { sourceType: 'push' });
    const hooked = await source('hooked', { autoDeploy: 'commit' });
    const path = `/services/${hooked.service.id}/hooks`;
    const made = await client.expect<{ hook: Hook }>('POST', path, { provider: 'github' });
    return new Commits(target.platform, client, pushed, { ...hooked, hook: made.hook });
  }

  async run(stop: AbortSignal): Promise<void> {
    const each = async (source: Source, send: (commit: string) => Promise<boolean>) => {
      while (!stop.aborted) {
        const commit = await source.repository.commit(`Number ${source.accepted.length}`, {
          number: String(source.accepted.length),
        });
        await until(`commit ${commit} is accepted`, () => send(commit));
        source.accepted.push(commit);
        // A newer commit of the branch replaces older ones, so each must have its deployment before the next is sent.
        await until(`commit ${commit} has its deployment`, async () => (await this.#deploymentsOf(source, commit)) > 0);
      }
    };
    await Promise.all([each(this.#pushed, () => this.#push()), each(this.#hooked, (commit) => this.#deliver(commit))]);
  }

  async #push(): Promise<boolean> {
    const { workspaceId, key, baseUrl } = this.#client;
    const { host } = new URL(baseUrl);
    const [slug] = new URL(this.#pushed.service.url).hostname.split('.');
    const url = `http://any:${key}@${host}/git/${workspaceId}/${slug}.git`;
    const args = ['-C', this.#pushed.repository.folder, 'push', '-q', '-o', 'no-wait', url, 'main'];
    return run('git', args, { env: ENVIRONMENT, timeout: 60_000 }).then(
      () => true,
      () => false,
    );
  }

  async #deliver(commit: string): Promise<boolean> {
    const payload = { ref: 'refs/heads/main', before: '', after: commit };
    const answer = await deliver(this.#platform, this.#hooked.hook, 'push', payload, commit).catch(() => null);
    return answer?.ok === true;
  }

  async #deploymentsOf({ service }: Source, commit: string): Promise<number> {
    return (await this.#platform.database.db('deployments').where({ service_id: service.id, commit_sha: commit }))
      .length;
  }

  async promise(promises: Promises): Promise<void> {
    for (const { service, accepted } of [this.#pushed, this.#hooked]) {
      const rows = await this.#platform.database.db('deployments').where({ service_id: service.id });
      for (const { id, commit_sha } of rows) if (accepted.includes(commit_sha)) promises.deployments.add(id);
    }
  }

  async books(): Promise<Entry[]> {
    const { db } = this.#platform.database;
    const entries: Entry[] = [];
    for (const [what, source] of [
      ['accepted pushes are one deployment each', this.#pushed],
      ['accepted deliveries are one deployment each', this.#hooked],
    ] as const) {
      const wrong: string[] = [];
      for (const commit of source.accepted) {
        const count = await this.#deploymentsOf(source, commit);
        if (count !== 1) wrong.push(`${commit}: ${count} deployments`);
      }
      entries.push({ what, counted: source.accepted.length, wrong });
    }
    const unsettled = await db('pushes').whereNull('settled_at').select('id');
    const undecided = await db('commit_events').whereNull('finished_at').select('id');
    entries.push({
      what: 'pushes that are not settled',
      counted: unsettled.length,
      wrong: unsettled.map(({ id }) => id),
    });
    entries.push({
      what: 'reports that are not decided',
      counted: undecided.length,
      wrong: undecided.map(({ id }) => id),
    });
    return entries;
  }

  async remove(): Promise<void> {
    await this.#pushed.repository.remove();
    await this.#hooked.repository.remove();
  }
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    if (await done().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(RETRY_MS);
  }
}
