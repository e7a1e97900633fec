import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import type { BuiltImage, ImageManifest } from '../../shared/images/model.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { isImageSource } from '../../shared/services/service-source.js';
import { discardTree, removeUnused } from '../core/remove-folders.js';
import { BuildError, IMAGES_MISSING, ImageUnavailableError } from '../failures/explained-errors.js';
import { diskProblem } from '../sandbox/disk-guard.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import type { RepositorySource } from '../sources/repository-source.js';
import {
  type BuildFolder,
  buildsFolder,
  cacheFolder,
  cachesFolder,
  openBuildFolder,
  openCache,
  removeDeadBuilds,
} from './build-folder.js';
import type { BuildContext, Builder, BuildRequest } from './builder.js';
import { dependenciesFolder, KeptDependencies } from './dependencies/kept-dependencies.js';
import { explain } from './detection/explain-detection.js';
import { checkOut } from './files/check-out.js';
import { below, projectOf } from './files/project-files.js';
import { MARKS } from './languages/languages.js';
import { buildDockerfile } from './oci-images/dockerfile-build.js';
import { adoptImage, type ImageBuilderOptions } from './oci-images/image-builder.js';
import { asksForDockerfile } from './plan/build-plan.js';
import type { BuildPlan } from './plan/plan-model.js';
import { readFiles } from './reader/read-files.js';
import type { OPERATIONS } from './reader/reader-operations.js';
import { warmReader } from './reader/reader-pool.js';
import type { FolderImageStore } from './result/folder-image-store.js';
import { BUILD_SANDBOX, firstSandbox, inSearchPath, storageMb } from './steps/build-commands.js';
import { TimeLimit } from './steps/build-time-limit.js';
import { runSteps } from './steps/run-steps.js';
import { LOCK_FILES } from './toolchains/manager-version.js';
import type { ToolchainStore } from './toolchains/toolchain-store.js';

export interface RepositoryBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment'>;
  log: Logger;
  sandbox: Sandbox;
  source: RepositorySource;
  images: FolderImageStore;
  toolchains: Pick<ToolchainStore, 'provide' | 'pathOf'>;
  /** The programs that pull and build images; absent or null if this host cannot run them. */
  imageBuilds?: ImageBuilderOptions | null;
}

/**
 * Creates a builder that builds repositories on this host without a container engine. It detects the project, runs
 * commands in the sandbox, and stores the result as a folder.
 */
export function createRepositoryBuilder(options: RepositoryBuilderOptions): Builder {
  const leftovers = new Leftovers(options);
  return {
    expectBuild: warmReader,
    build: async (request, context) => {
      leftovers.removeSoon();
      const problem = await diskProblem(options.config.dataDir);
      if (problem !== null) throw new BuildError(problem);
      const deps = { dataDir: options.config.dataDir, log: options.log };
      const folder = await openBuildFolder(options.config.dataDir, request.id);
      try {
        if (isImageSource(request.configuration)) return await adopt(options, request, context, folder);
        return await new RepositoryBuild(options, request, context, folder).run();
      } finally {
        await discardTree(deps, folder.path);
      }
    },
    sweep: async () => {
      await leftovers.remove();
      const deps = { dataDir: options.config.dataDir, log: options.log };
      await removeUnused(deps, dependenciesFolder(deps.dataDir));
      await options.imageBuilds?.registry.sweep();
      return removeUnused(deps, cachesFolder(deps.dataDir));
    },
  };
}

async function adopt(
  { imageBuilds }: RepositoryBuilderOptions,
  request: BuildRequest,
  context: BuildContext,
  folder: BuildFolder,
): Promise<BuiltImage> {
  if (!imageBuilds) throw new BuildError(IMAGES_MISSING);
  return adoptImage({ options: imageBuilds, request, context, folder, limit: new TimeLimit(request, context) });
}

/**
 * Minimum interval, in milliseconds, between two removals of what killed builds have left behind. Each build starts
 * such a removal unless the last one is more recent.
 */
const LEFTOVERS_MS = 15_000;

/** Removes folders, processes and control groups of builds whose worker was killed. */
class Leftovers {
  readonly #options: RepositoryBuilderOptions;
  #removedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RepositoryBuilderOptions) {
    this.#options = options;
  }

  /**
   * Removes leftovers in the background, unless a removal has started less than `LEFTOVERS_MS` ago. Builds do not wait
   * for the removal.
   */
  removeSoon(): void {
    if (performance.now() - this.#removedAt < LEFTOVERS_MS) return;
    this.remove().catch((error: unknown) => {
      this.#options.log.error(
        { err: error },
        `the leftovers of other builds could not be removed: ${errorMessage(error)}`,
      );
    });
  }

  async remove(): Promise<void> {
    const { config, sandbox, log } = this.#options;
    this.#removedAt = performance.now();
    await removeDeadBuilds({ dataDir: config.dataDir, log });
    const builds = buildsFolder(config.dataDir);
    const ended = await sandbox.sweep(async () => (id) => {
      if (!id.startsWith(BUILD_SANDBOX)) return true;
      return existsSync(join(builds, id.slice(BUILD_SANDBOX.length).replace(/-\d+$/, '')));
    });
    if (ended > 0) log.warn({ ended }, 'processes of builds whose worker has died were ended');
  }
}

class RepositoryBuild {
  readonly #options: RepositoryBuilderOptions;
  readonly #request: BuildRequest;
  #context: BuildContext;
  readonly #folder: BuildFolder;
  readonly #app: string;
  readonly #limit: TimeLimit;
  readonly #cache: Promise<string>;

  constructor(options: RepositoryBuilderOptions, request: BuildRequest, context: BuildContext, folder: BuildFolder) {
    this.#options = options;
    this.#request = request;
    this.#context = context;
    this.#folder = folder;
    this.#app = folder.app;
    this.#limit = new TimeLimit(request, context);
    this.#cache = openCache({ dataDir: options.config.dataDir, log: options.log }, request, context);
  }

  async run(): Promise<BuiltImage> {
    // The cache is measured during the checkout, which takes about as long. If the checkout fails, nothing awaits the
    // measurement, so its failure is ignored.
    this.#cache.catch(() => undefined);
    const { hasSubmodules } = await this.#limit.within('the checkout', () =>
      checkOut({
        source: this.#options.source,
        request: this.#request,
        directory: this.#app,
        log: this.#context.log,
        signal: this.#limit.signal,
      }),
    );
    this.#context = { ...this.#context, hasSubmodules };
    const { sandbox, config, images, log } = this.#options;
    const kept = new KeptDependencies({ dataDir: config.dataDir, log, images }, this.#request.serviceId);
    const first = firstSandbox(this.#request, this.#app);
    try {
      if (await installsSomething(this.#app, kept)) sandbox.expect(first);
      return await this.#build(kept);
    } finally {
      sandbox.forget(first.id);
    }
  }

  async #build(kept: KeptDependencies): Promise<BuiltImage> {
    const { configuration, kind } = this.#request;
    const { sandbox, config, toolchains } = this.#options;
    const app = await realpath(this.#app);
    const { signal } = this.#limit;
    const about = { app, ...projectOf(configuration, kind) };
    const dockerfileProject = await this.#dockerfileProject(about);
    const built = dockerfileProject === null ? null : await this.#buildDockerfile(dockerfileProject, app);
    if (built !== null && !(built instanceof ImageUnavailableError)) return built;
    const { project, plan, locked } = await this.#limit.within('looking at the repository', () =>
      readFiles('planProcess', about, { signal }).catch((error: unknown) => {
        throw built !== null && error instanceof BuildError ? built : error;
      }),
    );
    for (const line of explain(plan)) await this.#context.log(line);
    let tools = await this.#limit.within('installing the tools that the project names', () =>
      this.#options.toolchains.provide(plan.versions, { signal, log: this.#context.log }),
    );
    let dependencies: string | null = null;
    // If the plan has no commands, the steps are skipped, and the files keep their owner, the platform's user.
    if (plan.tools.length + plan.install.length + plan.build.length > 0) {
      const cache = cacheFolder(config.dataDir, this.#request.serviceId);
      const place = { app: this.#app, cache, cacheOpened: this.#cache, kept, locked };
      const steps = { sandbox, config, toolchains, request: this.#request, context: this.#context, limit: this.#limit };
      ({ tools, dependencies } = await runSteps({ ...steps, ...place }, plan, tools));
    }
    this.#context.signal.throwIfAborted();
    const image = await this.#limit.within('storing the image', () => this.#store(plan, tools, app, project));
    if (dependencies !== null) await kept.remember(dependencies, image.digest);
    return image;
  }

  /**
   * Returns the project's folder if its Dockerfile is to be built; otherwise null. For most repositories, this is
   * decided without a separate process.
   */
  async #dockerfileProject(about: Parameters<(typeof OPERATIONS)['dockerfileProject']>[0]): Promise<string | null> {
    const isAsked = asksForDockerfile(this.#request.configuration);
    if (!isAsked && !this.#options.imageBuilds) return null;
    if (!isAsked && !(await exists(join(about.app, about.rootDirectory, 'Dockerfile')))) return null;
    return readFiles('dockerfileProject', about, { signal: this.#limit.signal });
  }

  /**
   * Builds the Dockerfile. Returns the error if an image that the Dockerfile names is unavailable and the settings do
   * not require the Dockerfile. The caller then ignores the Dockerfile.
   */
  async #buildDockerfile(project: string, app: string): Promise<BuiltImage | ImageUnavailableError> {
    const [options, request, context, limit] = [this.#options.imageBuilds, this.#request, this.#context, this.#limit];
    const isAsked = asksForDockerfile(request.configuration);
    if (!options) throw new BuildError(IMAGES_MISSING);
    const folder = { ...this.#folder, app };
    try {
      return await buildDockerfile({ options, request, context, limit, folder }, project);
    } catch (error) {
      if (isAsked || !(error instanceof ImageUnavailableError)) throw error;
      await context.log(`The Dockerfile is left out: ${error.message}`, 'warn');
      return error;
    }
  }

  async #store(plan: BuildPlan, tools: string[], app: string, project: string): Promise<BuiltImage> {
    const { configuration } = this.#request;
    const { publishDirectory } = configuration;
    const result = {
      app,
      project,
      starts: plan.starts,
      publish: plan.publish,
      publishDirectory,
      isDefault: publishDirectory === DEFAULT_CONFIGURATION.publishDirectory,
      built: plan.build.length > 0,
    };
    const { signal } = this.#limit;
    const settled = await readFiles('settleResult', result, { signal });
    for (const note of settled.notes) await this.#context.log(note);
    const folder = settled.type === 'static' ? settled.folder : app;
    const { digest, sizeBytes } = await this.#options.images.put(folder, {
      limitBytes: storageMb(this.#request) * 1024 ** 2,
      seenAs: join(this.#options.sandbox.pathOf({ directory: app }), below(app, folder)),
      signal,
    });
    const manifest: ImageManifest =
      settled.type === 'static'
        ? {
            type: 'static',
            runtime: 'static',
            startCommand: '',
            workingDirectory: '',
            publishDirectory: '',
            environment: {},
            ...(settled.fallback === '' ? {} : { fallback: settled.fallback }),
            ...(settled.base === '' ? {} : { base: settled.base }),
            ...(settled.rules === null ? {} : { siteRules: settled.rules }),
          }
        : {
            type: 'process',
            runtime: plan.runtime,
            startCommand: inSearchPath(plan.searchPath, directly(plan, settled.startCommand)),
            shownCommand: settled.startCommand,
            ...(plan.releaseCommand === undefined
              ? {}
              : { releaseCommand: inSearchPath(plan.searchPath, plan.releaseCommand) }),
            workingDirectory: below(app, project),
            publishDirectory: '',
            environment: plan.environment,
            ...(tools.length === 0 ? {} : { tools }),
          };
    return { digest, sizeBytes, manifest };
  }
}

/** Most projects that install packages have at least one of these files. */
const INSTALLED_FROM = [...LOCK_FILES, ...MARKS];

/** Guesses, before detection, whether a command will run, so that its sandbox can be prepared during detection. */
async function installsSomething(app: string, kept: KeptDependencies): Promise<boolean> {
  const names = await readdir(app);
  return INSTALLED_FROM.some((name) => names.includes(name)) && !(await kept.isNoted());
}

/**
 * Returns the command that is actually run for `startCommand`, the command that users see. It is the `direct` form of
 * that start, or `startCommand` itself if there is no such form.
 */
function directly({ starts }: BuildPlan, startCommand: string): string {
  return starts.find(({ command }) => command === startCommand)?.direct ?? startCommand;
}
