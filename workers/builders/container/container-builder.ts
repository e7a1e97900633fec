import { realpath } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Config } from '../../../shared/config.js';
import { isImageSource } from '../../../shared/domain/source.js';
import type { Logger } from '../../../shared/log.js';
import type { Accounts, RegistryAccount } from '../../docker/credentials.js';
import type { Engine } from '../../docker/engine.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import type { RepositorySource } from '../../sources/source.js';
import { type BuildFolder, openBuildFolder, removeDeadBuilds } from '../build-folder.js';
import { type BuildContext, BuildError, type Builder, type BuildRequest, type BuiltImage } from '../builder.js';
import { openCache } from '../cache-folder.js';
import { checkOut } from '../checkout.js';
import { buildMemoryMb, storageMb } from '../commands.js';
import { type BuildPlan, givenStart, isSite, planBuild, wantsDockerfile } from '../detect.js';
import { below, folderInside, readProject } from '../project.js';
import { TimeLimit } from '../time-limit.js';
import { packContext } from './build-context.js';
import { dockerfileContext } from './dockerfile-context.js';
import { type BuilderKind, buildInEngine, type EngineBuild } from './engine-build.js';
import { defaultBuilder } from './engine-default.js';
import type { EngineImageStore } from './engine-image-store.js';
import { loadImage } from './image-archive.js';
import { adoptImage, labelImage } from './image-source.js';
import { planContext } from './plan-context.js';
import { buildByRailpack, type Railpack } from './railpack.js';

export interface ContainerBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment' | 'baseImages' | 'dockerBuilder'>;
  log: Logger;
  engine: Engine;
  /** Builds what has no Dockerfile; where it is null, a Dockerfile that is written for it does. */
  railpack: Railpack | null;
  sandbox: Sandbox;
  source: RepositorySource;
  images: EngineImageStore;
  /** Builds what is served as files. */
  sites: Builder;
  /** The account that a workspace's `registryId` names; null where it names none. */
  findAccount: (workspaceId: string, registryId: string) => Promise<RegistryAccount | null>;
}

/**
 * Makes images in a container engine: of a repository's Dockerfile, by Railpack or of its plan, or of an image that exists.
 * What turns out to be a site of files is left to `sites`.
 */
export function createContainerBuilder(options: ContainerBuilderOptions): Builder {
  return {
    build: async (request, context) => {
      const built = isImageSource(request.configuration)
        ? await new ContainerBuild(options, request, context).adopt()
        : await buildRepository(options, request, context);
      return built ?? options.sites.build(request, context);
    },
    sweep: async () => (await options.sites.sweep()) + (await options.images.removeOldCaches()),
  };
}

/** Undefined where the repository is a site. */
async function buildRepository(
  options: ContainerBuilderOptions,
  request: BuildRequest,
  context: BuildContext,
): Promise<BuiltImage | undefined> {
  await removeDeadBuilds(options.config.dataDir);
  const folder = await openBuildFolder(options.config.dataDir, request.id);
  try {
    return await new ContainerBuild(options, request, context).build(folder);
  } finally {
    await folder.remove();
  }
}

/** Where a build's files are on this host. */
interface Places {
  folder: string;
  app: string;
  project: string;
}

class ContainerBuild {
  readonly #options: ContainerBuilderOptions;
  readonly #request: BuildRequest;
  readonly #context: BuildContext;
  readonly #limit: TimeLimit;

  constructor(options: ContainerBuilderOptions, request: BuildRequest, context: BuildContext) {
    this.#options = options;
    this.#request = request;
    this.#limit = new TimeLimit(request, context);
    this.#context = { ...context, signal: this.#limit.signal };
  }

  async build(folder: BuildFolder): Promise<BuiltImage | undefined> {
    const { configuration, kind } = this.#request;
    const { log, signal } = this.#context;
    const checkout = { source: this.#options.source, request: this.#request, directory: folder.app, log, signal };
    await this.#limit.within('the checkout', () => checkOut(checkout));
    const app = await realpath(folder.app);
    const project = await folderInside(app, configuration.rootDirectory, 'rootDirectory');
    const places = { folder: folder.path, app, project };
    const files = await readProject(places.project);
    if (wantsDockerfile(files, kind, configuration)) {
      return this.#limit.within('the build', () => this.#fromDockerfile(places));
    }
    const { railpack } = this.#options;
    if (railpack !== null && configuration.buildMethod === 'railpack' && !isSite(files, kind, configuration)) {
      const start = givenStart(files, kind, configuration);
      return this.#limit.within('the build', () => this.#byRailpack(railpack, start, places));
    }
    const plan = planBuild(files, kind, configuration, { containers: true });
    if (plan.type === 'static') return undefined;
    return this.#limit.within('the build', () => this.#fromPlan(plan, places));
  }

  /** The image that the configuration names, under a name of ours. */
  async adopt(): Promise<BuiltImage> {
    return this.#limit.within('taking over the image', async () => {
      const { engine, images } = this.#options;
      const accounts = await this.#accounts();
      const labelled = await this.#engineBuild({ accounts, labels: images.labels.image });
      const imageId = await adoptImage(engine, this.#request, this.#context, labelled);
      return this.#keep(imageId, 'image', this.#request.configuration.startCommand.trim());
    });
  }

  async #fromDockerfile(places: Places): Promise<BuiltImage> {
    const { configuration } = this.#request;
    const { images, config } = this.#options;
    const { content, dockerfile, buildArgs } = await dockerfileContext(this.#request, config, places);
    await this.#context.log(`Builds the Dockerfile ${configuration.dockerfilePath}`);
    const build = await this.#engineBuild({
      accounts: await this.#accounts(),
      labels: images.labels.image,
      dockerfile,
      buildArgs,
      secrets: this.#request.environment,
      origin: 'the Dockerfile',
    });
    const imageId = await buildInEngine(
      this.#options.engine,
      { ...build, context: packContext(content) },
      this.#context,
    );
    return this.#keep(imageId, 'docker', configuration.startCommand.trim());
  }

  async #fromPlan(plan: BuildPlan, { app, project }: Places): Promise<BuiltImage> {
    const { engine, images, config } = this.#options;
    const { runtime, startCommand } = plan;
    const what = `${runtime === 'auto' ? 'as it is' : runtime}, "${startCommand}"`;
    await this.#context.log(`Detected: ${what}; builds a Dockerfile written for it`);
    const build = await this.#engineBuild({ origin: 'BASE_IMAGES', labels: images.labels.image });
    const { content, buildArgs, cacheCleaner } = await planContext({
      plan,
      request: this.#request,
      config,
      app,
      project: below(app, project),
      keepsCaches: build.kind === 'buildkit',
      labels: images.labels.cache,
    });
    if (build.noCache && cacheCleaner !== null) {
      await this.#context.log('Empties the caches of package managers');
      const context = packContext({ folders: [], files: { Dockerfile: cacheCleaner } });
      await buildInEngine(engine, { ...build, context, labels: images.labels.cache }, this.#context);
    }
    const imageId = await buildInEngine(engine, { ...build, context: packContext(content), buildArgs }, this.#context);
    return this.#keep(imageId, runtime, startCommand);
  }

  async #byRailpack(railpack: Railpack, startCommand: string | null, places: Places): Promise<BuiltImage> {
    const { engine, images, config, sandbox } = this.#options;
    const { dataDir, buildEnvironment } = config;
    const { id, serviceId } = this.#request;
    await this.#context.log('Builds with Railpack');
    const labelled = await this.#engineBuild({ labels: images.labels.image });
    const name = `ranvier/${serviceId}:railpack-${id}`;
    const archive = await buildByRailpack(railpack, {
      sandbox,
      request: this.#request,
      context: this.#context,
      deadline: this.#limit.deadline,
      folder: places.folder,
      app: places.app,
      project: below(places.app, places.project),
      cache: await openCache(dataDir, this.#request, this.#context),
      name,
      startCommand,
      buildEnvironment,
    });
    await loadImage(engine, archive, name, this.#context.signal);
    const imageId = await labelImage(engine, name, this.#context, labelled);
    return this.#keep(imageId, 'railpack', '');
  }

  /** What all builds in the engine have in common. */
  async #engineBuild(build: Partial<EngineBuild>): Promise<Omit<EngineBuild, 'context'>> {
    const { config, engine } = this.#options;
    const kind: BuilderKind = config.dockerBuilder === 'auto' ? await defaultBuilder(engine) : config.dockerBuilder;
    if (this.#request.clearCache) await this.#context.log('Builds without any cache, as was asked for');
    return {
      kind,
      dockerfile: 'Dockerfile',
      origin: 'the service',
      buildArgs: {},
      secrets: {},
      labels: {},
      noCache: this.#request.clearCache,
      accounts: new Map(),
      memoryMb: buildMemoryMb(this.#request),
      cpu: availableParallelism(),
      ...build,
    };
  }

  async #accounts(): Promise<Accounts> {
    const { workspaceId, configuration } = this.#request;
    if (configuration.registryId === '') return new Map();
    const account = await this.#options.findAccount(workspaceId, configuration.registryId);
    if (account === null) throw new BuildError('registryId names no registry of the workspace (any more)');
    return new Map([[account.serveraddress, account]]);
  }

  async #keep(imageId: string, runtime: string, startCommand: string): Promise<BuiltImage> {
    const limitBytes = storageMb(this.#request) * 1024 ** 2;
    const { digest, reference, sizeBytes } = await this.#options.images.keep(imageId, this.#request.serviceId, {
      signal: this.#context.signal,
      limitBytes,
      log: this.#context.log,
    });
    return {
      digest,
      sizeBytes,
      manifest: {
        type: 'process',
        runtime,
        reference,
        startCommand,
        // The image says all of it.
        workingDirectory: '',
        publishDirectory: '',
        environment: {},
      },
    };
  }
}
