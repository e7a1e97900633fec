import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/config.js';
import { errorMessage } from '../../shared/errors.js';
import type { Logger } from '../../shared/log.js';
import { removeUnused } from '../folders.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { ownDirectory } from '../sandbox/users.js';
import type { RepositorySource } from '../sources/source.js';
import { type BuildFolder, buildsFolder, openBuildFolder, removeDeadBuilds } from './build-folder.js';
import type { BuildContext, Builder, BuildRequest, BuiltImage } from './builder.js';
import { cachesFolder, openCache } from './cache-folder.js';
import { checkOut } from './checkout.js';
import { BUILD_SANDBOX, Commands, inSearchPath, storageMb } from './commands.js';
import { type BuildPlan, planBuild } from './detect.js';
import type { LocalImageStore } from './image-store.js';
import { below, folderInside, readProject } from './project.js';
import { publishedFolder } from './publish.js';
import { TimeLimit } from './time-limit.js';

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
      await removeLeftovers(options).catch((error: unknown) => {
        options.log.error({ err: error }, `what other builds left is still there: ${errorMessage(error)}`);
      });
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
  readonly #limit: TimeLimit;

  constructor(options: RepositoryBuilderOptions, request: BuildRequest, context: BuildContext, folder: BuildFolder) {
    this.#options = options;
    this.#request = request;
    this.#context = context;
    this.#app = folder.app;
    this.#limit = new TimeLimit(request, context);
  }

  async run(): Promise<BuiltImage> {
    const { configuration, kind, userNumber } = this.#request;
    await this.#limit.within('the checkout', () =>
      checkOut({
        source: this.#options.source,
        request: this.#request,
        directory: this.#app,
        log: this.#context.log,
        signal: this.#limit.signal,
      }),
    );
    const app = await realpath(this.#app);
    const project = await folderInside(app, configuration.rootDirectory, 'rootDirectory');
    const plan = planBuild(await readProject(project), kind, configuration);
    await this.#announce(plan);
    await ownDirectory(app, userNumber);
    await this.#runCommands(plan, below(app, project));
    this.#context.signal.throwIfAborted();
    return this.#limit.within('storing the image', () => this.#store(plan, app, project));
  }

  async #announce({ type, runtime, startCommand }: BuildPlan): Promise<void> {
    const what =
      type === 'static' ? 'a static site' : `${runtime === 'auto' ? 'as it is' : runtime}, "${startCommand}"`;
    await this.#context.log(`Detected: ${what}`);
  }

  async #runCommands(plan: BuildPlan, cwd: string): Promise<void> {
    const cache = await openCache(this.#options.config.dataDir, this.#request, this.#context);
    const commands = new Commands({
      sandbox: this.#options.sandbox,
      app: this.#app,
      cwd,
      searchPath: plan.searchPath,
      request: this.#request,
      context: this.#context,
      deadline: this.#limit.deadline,
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

  async #store(plan: BuildPlan, app: string, project: string): Promise<BuiltImage> {
    const { configuration } = this.#request;
    const isStatic = plan.type === 'static';
    const folder = isStatic ? await publishedFolder(project, configuration, plan.build.length > 0) : app;
    const { digest, sizeBytes } = await this.#options.images.put(folder, {
      limitBytes: storageMb(this.#request) * 1024 ** 2,
      seenAs: join(this.#options.sandbox.pathOf({ directory: app }), below(app, folder)),
      signal: this.#limit.signal,
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
}
