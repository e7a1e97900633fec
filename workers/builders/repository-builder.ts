import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
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
  buildsFolder,
  cacheFolder,
  cachesFolder,
  openBuildFolder,
  openCache,
  removeDeadBuilds,
} from './build-folder.js';
import type { Builder } from './builder.js';
import { dependenciesFolder, KeptDependencies } from './dependencies/kept-dependencies.js';
import type { DetectInput } from './detection/detect-project.js';
import { explain } from './detection/explain-detection.js';
import { checkOut } from './files/check-out.js';
import { projectOf } from './files/project-files.js';
import { MARKS } from './languages/languages.js';
import { buildDockerfile } from './oci-images/dockerfile-build.js';
import { adoptImage, type ImageBuilderOptions, type ImageTask } from './oci-images/image-builder.js';
import { asksForDockerfile } from './plan/build-plan.js';
import type { BuildPlan } from './plan/plan-model.js';
import { readFiles } from './reader/read-files.js';
import { warmReader } from './reader/reader-pool.js';
import type { FolderImageStore } from './result/folder-image-store.js';
import { BUILD_SANDBOX, buildSandbox, inSearchPath, storageMb } from './steps/build-commands.js';
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
  /** The options for building and pulling images; absent or null if this host can do neither. */
  imageBuilds?: ImageBuilderOptions | null;
}

/** Creates a builder that builds repositories on this host without a container engine. */
export function createRepositoryBuilder(options: RepositoryBuilderOptions): Builder {
  const deps = { dataDir: options.config.dataDir, log: options.log };
  const leftovers = leftoversOf(options);
  return {
    expectBuild: warmReader,
    build: async (request, context) => {
      leftovers.removeSoon();
      const problem = await diskProblem(deps.dataDir);
      if (problem !== null) throw new BuildError(problem);
      const folder = await openBuildFolder(deps.dataDir, request.id);
      try {
        const build = { options, request, context, folder, limit: new TimeLimit(request, context) };
        if (isImageSource(request.configuration)) return await adoptImage(imageTask(build));
        return await buildRepository(build);
      } finally {
        await discardTree(deps, folder.path);
      }
    },
    sweep: async () => {
      await leftovers.remove();
      await removeUnused(deps, dependenciesFolder(deps.dataDir));
      await options.imageBuilds?.registry.sweep();
      return removeUnused(deps, cachesFolder(deps.dataDir));
    },
  };
}

interface Build extends Omit<ImageTask, 'options'> {
  options: RepositoryBuilderOptions;
}

function imageTask(build: Build): ImageTask {
  const { imageBuilds } = build.options;
  if (!imageBuilds) throw new BuildError(IMAGES_MISSING);
  return { ...build, options: imageBuilds };
}

/** Minimum interval, in milliseconds, between two removals of what killed builds have left behind. */
const LEFTOVERS_MS = 15_000;

/** Returns functions that remove folders, processes and control groups of builds whose worker was killed. */
function leftoversOf({ config: { dataDir }, sandbox, log }: RepositoryBuilderOptions) {
  let removedAt = Number.NEGATIVE_INFINITY;
  const remove = async () => {
    removedAt = performance.now();
    await removeDeadBuilds({ dataDir, log });
    const builds = buildsFolder(dataDir);
    const ended = await sandbox.sweep(async () => (id) => {
      if (!id.startsWith(BUILD_SANDBOX)) return true;
      return existsSync(join(builds, id.slice(BUILD_SANDBOX.length).replace(/-\d+$/, '')));
    });
    if (ended > 0) log.warn({ ended }, 'processes of builds whose worker has died were ended');
  };
  const removeSoon = () => {
    if (performance.now() - removedAt < LEFTOVERS_MS) return;
    remove().catch((error: unknown) =>
      log.error({ err: error }, `the leftovers of other builds could not be removed: ${errorMessage(error)}`),
    );
  };
  return { remove, removeSoon };
}

async function buildRepository(build: Build): Promise<BuiltImage> {
  const { options, request, folder, limit } = build;
  const { sandbox, config, images, log, source } = options;
  const deps = { dataDir: config.dataDir, log };
  const cacheOpened = openCache(deps, request, build.context);
  // If the checkout fails, nothing awaits this promise, and its rejection would be unhandled.
  cacheOpened.catch(() => undefined);
  const context = await checkOut(source, folder.app, request, build.context, limit);
  const kept = new KeptDependencies({ ...deps, images }, request.serviceId);
  const first = buildSandbox(request, folder.app, 1);
  try {
    if (await installsSomething(folder.app, kept)) sandbox.expect(first);
    return await buildCheckout({ ...build, context }, kept, cacheOpened);
  } finally {
    sandbox.forget(first.id);
  }
}

async function buildCheckout(build: Build, kept: KeptDependencies, cacheOpened: Promise<string>): Promise<BuiltImage> {
  const { options, request, context, limit, folder } = build;
  const { sandbox, config, toolchains } = options;
  const app = await realpath(folder.app);
  const { signal } = limit;
  const about = { app, ...projectOf(request.configuration, request.kind) };
  const dockerfileProject = await dockerfileProjectOf(build, about);
  const built = dockerfileProject === null ? null : await builtDockerfile(build, dockerfileProject, app);
  if (built !== null && !(built instanceof ImageUnavailableError)) return built;
  const { project, plan, locked } = await limit.within('looking at the repository', () =>
    readFiles('planProcess', about, { signal }).catch((error: unknown) => {
      throw built !== null && error instanceof BuildError ? built : error;
    }),
  );
  for (const line of explain(plan)) await context.log(line);
  let tools = await limit.within('installing the tools that the project names', () =>
    toolchains.provide(plan.versions, { signal, log: context.log }),
  );
  let dependencies: string | null = null;
  // If the plan has no commands, the steps are skipped, and the files keep their owner, the platform's user.
  if (plan.tools.length + plan.install.length + plan.build.length > 0) {
    const cache = cacheFolder(config.dataDir, request.serviceId);
    const place = { app: folder.app, cache, cacheOpened, kept, locked };
    const steps = { sandbox, config, toolchains, request, context, limit, ...place };
    ({ tools, dependencies } = await runSteps(steps, plan, tools));
  }
  context.signal.throwIfAborted();
  const image = await limit.within('storing the image', () => store(build, plan, tools, app, project));
  if (dependencies !== null) await kept.remember(dependencies, image.digest);
  return image;
}

/** Returns the project's folder if its Dockerfile is to be built; otherwise null. */
async function dockerfileProjectOf({ options, request, limit }: Build, about: DetectInput): Promise<string | null> {
  const isAsked = asksForDockerfile(request.configuration);
  if (!isAsked && !options.imageBuilds) return null;
  if (!isAsked && !(await exists(join(about.app, about.rootDirectory, 'Dockerfile')))) return null;
  return readFiles('dockerfileProject', about, { signal: limit.signal });
}

/** Builds the Dockerfile. If it is optional and an image in it is unavailable, returns the error. */
async function builtDockerfile(
  build: Build,
  project: string,
  app: string,
): Promise<BuiltImage | ImageUnavailableError> {
  try {
    return await buildDockerfile({ ...imageTask(build), folder: { ...build.folder, app } }, project);
  } catch (error) {
    if (asksForDockerfile(build.request.configuration) || !(error instanceof ImageUnavailableError)) throw error;
    await build.context.log(`The Dockerfile is left out: ${error.message}`, 'warn');
    return error;
  }
}

async function store(
  { options, request, context, limit }: Build,
  plan: BuildPlan,
  tools: string[],
  app: string,
  project: string,
): Promise<BuiltImage> {
  const { publishDirectory } = request.configuration;
  const result = {
    app,
    project,
    starts: plan.starts,
    publish: plan.publish,
    publishDirectory,
    isDefault: publishDirectory === DEFAULT_CONFIGURATION.publishDirectory,
    built: plan.build.length > 0,
  };
  const { signal } = limit;
  const settled = await readFiles('settleResult', result, { signal });
  for (const note of settled.notes) await context.log(note);
  const folder = settled.type === 'static' ? settled.folder : app;
  const { digest, sizeBytes } = await options.images.put(folder, {
    limitBytes: storageMb(request) * 1024 ** 2,
    seenAs: join(options.sandbox.pathOf({ directory: app }), relative(app, folder)),
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
          workingDirectory: relative(app, project),
          publishDirectory: '',
          environment: plan.environment,
          ...(tools.length === 0 ? {} : { tools }),
        };
  return { digest, sizeBytes, manifest };
}

/** Most projects that install packages have at least one of these files. */
const INSTALLED_FROM = [...LOCK_FILES, ...MARKS];

/** Guesses, before detection, whether a command will run, so that its sandbox can be prepared during detection. */
async function installsSomething(app: string, kept: KeptDependencies): Promise<boolean> {
  const names = await readdir(app);
  return INSTALLED_FROM.some((name) => names.includes(name)) && !(await kept.isNoted());
}

/** Returns the command that a replica runs to start. Users see `startCommand`, which may be a simpler command. */
function directly({ starts }: BuildPlan, startCommand: string): string {
  return starts.find(({ command }) => command === startCommand)?.direct ?? startCommand;
}
