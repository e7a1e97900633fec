import { existsSync } from 'node:fs';
import { access, mkdir, readdir, realpath, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/config.js';
import type { Logger } from '../../shared/log.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { ownDirectory } from '../sandbox/users.js';
import type { RepositorySource } from '../sources/source.js';
import { removeUnused } from '../unused.js';
import { type BuildFolder, buildsFolder, openBuildFolder, removeDeadBuilds } from './build-folder.js';
import { type BuildContext, BuildError, type Builder, type BuildRequest, type BuiltImage } from './builder.js';
import { BUILD_SANDBOX, Commands, didNotFinish, inSearchPath, storageMb } from './commands.js';
import { type BuildPlan, planBuild } from './detect.js';
import type { LocalImageStore } from './image-store.js';
import { createPathFilter } from './path-filter.js';
import { below, folderInside, readProject } from './project.js';
import { publishedFolder } from './publish.js';

export interface RepositoryBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment'>;
  log: Logger;
  sandbox: Sandbox;
  source: RepositorySource;
  images: LocalImageStore;
}

/** Builds from a repository on this host, without containers: detection, commands in the sandbox, a folder as image. */
export function createRepositoryBuilder(options: RepositoryBuilderOptions): Builder {
  return {
    build: async (request, context) => {
      await removeLeftovers(options);
      const folder = await openBuildFolder(options.config.dataDir, request.id);
      try {
        return await new RepositoryBuild(options, request, context, folder).run();
      } finally {
        await folder.remove();
      }
    },
    sweep: async () => {
      await removeLeftovers(options);
      return removeUnused(cachesFolder(options.config.dataDir));
    },
  };
}

function cachesFolder(dataDir: string): string {
  return join(dataDir, 'caches');
}

/** Folders, processes and groups of builds whose worker was killed. */
async function removeLeftovers({ config, sandbox, log }: RepositoryBuilderOptions): Promise<void> {
  await removeDeadBuilds(config.dataDir);
  const builds = buildsFolder(config.dataDir);
  const ended = await sandbox.sweep((id) => {
    if (!id.startsWith(BUILD_SANDBOX)) return true;
    return existsSync(join(builds, id.slice(BUILD_SANDBOX.length).replace(/-\d+$/, '')));
  });
  if (ended > 0) log.warn({ ended }, 'processes of builds whose worker has died were ended');
}

class RepositoryBuild {
  readonly #options: RepositoryBuilderOptions;
  readonly #request: BuildRequest;
  readonly #context: BuildContext;
  readonly #app: string;
  readonly #deadline: number;
  readonly #timeout: AbortSignal;
  readonly #signal: AbortSignal;

  constructor(options: RepositoryBuilderOptions, request: BuildRequest, context: BuildContext, folder: BuildFolder) {
    const timeoutMs = request.configuration.timeoutSeconds * 1000;
    this.#options = options;
    this.#request = request;
    this.#context = context;
    this.#app = folder.app;
    this.#deadline = Date.now() + timeoutMs;
    this.#timeout = AbortSignal.timeout(timeoutMs);
    this.#signal = AbortSignal.any([context.signal, this.#timeout]);
  }

  async run(): Promise<BuiltImage> {
    const { configuration, kind, userNumber } = this.#request;
    await this.#within('the checkout', () => this.#checkout());
    const app = await realpath(this.#app);
    const project = await folderInside(app, configuration.rootDirectory, 'rootDirectory');
    const plan = planBuild(await readProject(project), kind, configuration);
    await this.#announce(plan);
    await ownDirectory(app, userNumber);
    await this.#runCommands(plan, below(app, project));
    this.#context.signal.throwIfAborted();
    return this.#within('storing the image', () => this.#store(plan, app, project));
  }

  /** The commit's files, without those that the path filters leave out. */
  async #checkout(): Promise<void> {
    const { repository, commitSha, configuration } = this.#request;
    await this.#options.source.checkout({
      url: repository,
      sha: commitSha,
      directory: this.#app,
      signal: this.#signal,
    });
    const { includePaths, ignorePaths } = configuration;
    if (includePaths.length + ignorePaths.length > 0) {
      const filter = createPathFilter(includePaths, ignorePaths);
      const removed = await removeFiles(this.#app, '', (path) => !filter.keeps(path));
      await this.#context.log(`${removed} files are left out by includePaths and ignorePaths`);
    }
    if (await exists(join(this.#app, '.gitmodules'))) {
      await this.#context.log('The repository has submodules; they are not part of the build', 'warn');
    }
  }

  async #announce({ type, runtime, startCommand }: BuildPlan): Promise<void> {
    const what =
      type === 'static' ? 'a static site' : `${runtime === 'auto' ? 'as it is' : runtime}, "${startCommand}"`;
    await this.#context.log(`Detected: ${what}`);
  }

  async #runCommands(plan: BuildPlan, cwd: string): Promise<void> {
    const cache = await this.#openCache();
    const commands = new Commands({
      sandbox: this.#options.sandbox,
      app: this.#app,
      cwd,
      searchPath: plan.searchPath,
      request: this.#request,
      context: this.#context,
      deadline: this.#deadline,
      writable: [cache],
      environment: this.#environment(plan, cache),
    });
    await commands.requireTools(plan);
    // Whatever the application runs with, its build needs the tools among its development dependencies.
    for (const command of plan.install) await commands.run(command, { NODE_ENV: 'development' });
    for (const command of plan.build) await commands.run(command);
  }

  /** The service's own variables win; of the platform's there are only those that are named for builds. */
  #environment(plan: BuildPlan, cache: string): Record<string, string> {
    const caches = Object.entries(plan.caches).map(([name, folder]) => [name, join(cache, folder)]);
    return {
      ...this.#options.config.buildEnvironment,
      CI: 'true',
      ...plan.environment,
      ...plan.buildEnvironment,
      ...Object.fromEntries(caches),
      ...this.#request.environment,
    };
  }

  /** What package managers keep between the builds of one service. */
  async #openCache(): Promise<string> {
    const { serviceId, clearCache, userNumber } = this.#request;
    const cache = join(cachesFolder(this.#options.config.dataDir), serviceId);
    if (clearCache) {
      await rm(cache, { recursive: true, force: true });
      await this.#context.log('The build cache is empty, as was asked for');
    }
    if (!(await exists(cache))) {
      await mkdir(cache, { recursive: true, mode: 0o700 });
      await ownDirectory(cache, userNumber);
    }
    const now = new Date();
    await utimes(cache, now, now);
    return cache;
  }

  async #store(plan: BuildPlan, app: string, project: string): Promise<BuiltImage> {
    const { configuration } = this.#request;
    const isStatic = plan.type === 'static';
    const folder = isStatic ? await publishedFolder(project, configuration, plan.build.length > 0) : app;
    const { digest, sizeBytes } = await this.#options.images.put(folder, {
      limitBytes: storageMb(this.#request) * 1024 ** 2,
      seenAs: join(this.#options.sandbox.pathOf({ directory: this.#app }), below(app, folder)),
      signal: this.#signal,
    });
    return {
      digest,
      sizeBytes,
      manifest: {
        type: plan.type,
        runtime: plan.runtime,
        startCommand: isStatic ? '' : inSearchPath(plan.searchPath, plan.startCommand),
        workingDirectory: isStatic ? '' : below(app, project),
        publishDirectory: '',
        environment: isStatic ? {} : plan.environment,
      },
    };
  }

  /** The build's time limit for what is not a command. */
  async #within<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (this.#timeout.aborted) throw new BuildError(`${what} ${didNotFinish(this.#request)}`);
      throw error;
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Removes files below a folder, and folders that this empties; returns how many files it removed. */
async function removeFiles(root: string, folder: string, isUnwanted: (path: string) => boolean): Promise<number> {
  let removed = 0;
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  let left = entries.length;
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      removed += await removeFiles(root, path, isUnwanted);
      if (!(await exists(join(root, path)))) left -= 1;
    } else if (isUnwanted(path)) {
      await rm(join(root, path), { force: true });
      removed += 1;
      left -= 1;
    }
  }
  if (left === 0 && folder !== '') await rm(join(root, folder), { recursive: true });
  return removed;
}
