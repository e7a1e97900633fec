import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nodeServer } from '../support/apps.js';
import { Browser } from '../support/browser.js';
import type { ApiClient } from '../support/client.js';
import { createService, deploy } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import type { Hook } from '../support/hook-delivery.js';
import type { Platform } from '../support/platform.js';
import { newTenant } from '../support/platform.js';
import { createPlatformRepository, type TestRepository } from '../support/repositories.js';
import { takeBackup } from './backups.js';
import { KINDS, type Kind, type RequestKind, type RequestTargets, repeat, type Sample } from './work-loop.js';

const run = promisify(execFile);
const PASSWORD = 'correct horse battery staple';
const WORKSPACES = 3;

interface Work {
  targets: RequestTargets;
  tasks: Record<Exclude<Kind, RequestKind>, () => Promise<unknown>>;
}

/** The steady work of several ordinary workspaces, which starts in `begin` and stops in `end`. */
export class OrdinaryMix {
  readonly samples: Sample[] = [];
  /** How many times slower than a quiet machine this one is (`slownessOf`). */
  slowness = 1;
  readonly #platform: Platform;
  readonly #stop = new AbortController();
  readonly #repositories: TestRepository[] = [];
  /** Visitors run in a separate process, because this one also simulates attackers and would measure its own load. */
  #visitors: ChildProcess | null = null;
  #loops: Promise<unknown> = Promise.resolve();

  private constructor(platform: Platform) {
    this.#platform = platform;
  }

  static async begin(platform: Platform): Promise<OrdinaryMix> {
    const mix = new OrdinaryMix(platform);
    setMaxListeners(WORKSPACES * Object.keys(KINDS).length, mix.#stop.signal);
    const works: Work[] = [];
    for (let i = 0; i < WORKSPACES; i++) works.push(await mix.#workspace(i));
    mix.#visit(works.map(({ targets }) => targets));
    const loops = works.flatMap(({ tasks }) =>
      (Object.keys(tasks) as Exclude<Kind, RequestKind>[]).map((kind) =>
        repeat(kind, tasks[kind], mix.#stop.signal, (sample) => mix.samples.push(sample)),
      ),
    );
    mix.#loops = Promise.all(loops);
    return mix;
  }

  since(time: number): Sample[] {
    return this.samples.filter(({ begun, ms }) => begun + ms >= time);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    const child = this.#visitors;
    this.#visitors = null;
    if (child !== null && child.exitCode === null) {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    }
    await this.#loops;
    for (const repository of this.#repositories.splice(0)) await repository.remove();
  }

  #visit(targets: readonly RequestTargets[]): void {
    const program = fileURLToPath(new URL('visitors-process.js', import.meta.url));
    const child = fork(program, [JSON.stringify(targets)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    child.on('message', (sample) => this.samples.push(sample as Sample));
    // Real visitors use other machines, so their process keeps the normal priority.
    if (child.pid !== undefined) setPriority(child.pid, 0);
    this.#visitors = child;
  }

  async #workspace(index: number): Promise<Work> {
    const platform = this.#platform;
    const email = `ordinary${index}@example.test`;
    await makeUser(platform.database.db, { email, password: PASSWORD });
    const name = `ordinary ${index}`;
    const client = await newTenant(platform, name, email);

    const app = await this.#repository(`ordinary ${index}`);
    const site = await createService(client, { name: `site-${index}`, configuration: { repository: app.url } });
    const database = await createService(client, {
      name: `data-${index}`,
      kind: 'postgres',
      configuration: { databaseVersion: '18' },
    });
    await Promise.all([deploy(client, site.id), deploy(client, database.id)]);
    const { hook } = await newHook(client, site.id);
    const { push, fetch: fetchGit } = await this.#git(client, `pushed-${index}`);
    const address = `203.0.113.${index + 1}`;
    const { baseUrl } = platform.client;
    const targets = {
      ...{ baseUrl, workspaceId: client.workspaceId, key: client.key, serviceId: site.id, hook },
      ...{ url: site.url, apiPort: platform.apiPort, edgePort: platform.edgePort, word: `ordinary ${index}` },
    };
    const tasks = {
      'sign-in': () =>
        new Browser(`http://127.0.0.1:${platform.apiPort}`, { 'X-Forwarded-For': address }).signIn(email, PASSWORD),
      'git fetch': fetchGit,
      'git push': push,
      deployment: () => deploy(client, site.id),
      backup: () => takeBackup(client, database.id),
    };
    return { targets, tasks };
  }

  async #repository(word: string): Promise<TestRepository> {
    const repository = await createPlatformRepository(nodeServer(word));
    this.#repositories.push(repository);
    return repository;
  }

  /** Returns functions that push to and fetch from a branch that is not deployed. */
  async #git(client: ApiClient, name: string): Promise<{ push: () => Promise<void>; fetch: () => Promise<void> }> {
    await createService(client, { name, configuration: { sourceType: 'push' } });
    const from = await this.#repository(name);
    const url = gitUrl(this.#platform, client, name);
    let pushed = 0;
    const push = async () => {
      await from.commit(`Push ${++pushed}`, { 'pushed.txt': String(pushed) });
      await git(from.folder, 'push', '-q', url, 'HEAD:refs/heads/side');
    };
    await push();
    const into = await this.#repository(`${name} clone`);
    return { push, fetch: () => git(into.folder, 'fetch', '-q', '--no-tags', url, '+refs/heads/side:refs/fetched') };
  }
}

export function newHook(client: ApiClient, serviceId: string): Promise<{ hook: Hook }> {
  return client.expect('POST', `/services/${serviceId}/hooks`, { provider: 'github' });
}

export function gitUrl({ apiPort }: Platform, { key, workspaceId }: ApiClient, name: string): string {
  return `http://anybody:${key}@127.0.0.1:${apiPort}/git/${workspaceId}/${name}.git`;
}

/** Runs git without this machine's configuration. Rejects with git's output, without the API key in it. */
export async function git(cwd: string, ...args: string[]): Promise<void> {
  const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
  await run('git', ['-c', 'safe.directory=*', ...args], { cwd, env, timeout: 60_000 }).catch(
    (error: { stderr?: string }) => {
      throw new Error(`git ${args[0]}: ${(error.stderr || String(error)).replace(/\/\/[^@\s]*@/g, '//')}`);
    },
  );
}
