import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import type { Config } from '../../../shared/core/config.js';
import type { Logger } from '../../../shared/core/log.js';
import type { BuiltImage } from '../../../shared/images/model.js';
import type { Engine } from '../../docker/docker-engine.js';
import type { Accounts } from '../../docker/registry-accounts.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import type { RepositorySource } from '../../sources/repository-source.js';
import { type BuildFolder, openCache } from '../build-folder.js';
import type { BuildContext, Builder, BuildRequest } from '../builder.js';
import { explain } from '../detection/explain-detection.js';
import { openDockerfile } from '../dockerfile/open-dockerfile.js';
import { accountsOf, type FindAccount } from '../dockerfile/requested-image.js';
import { checkOut } from '../files/check-out.js';
import { projectOf } from '../files/project-files.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { readFiles } from '../reader/read-files.js';
import { buildMemoryMb, storageMb } from '../steps/build-commands.js';
import { TimeLimit } from '../steps/build-time-limit.js';
import { toolsOfImage } from '../toolchains/own-tools.js';
import { shownName } from '../toolchains/tool-packages.js';
import type { ToolchainStore } from '../toolchains/toolchain-store.js';
import { packContext } from './build-context.js';
import { startInContainer } from './dockerfile-writer.js';
import { buildInEngine, cacheNamespace, type EngineBuild } from './engine-build.js';
import type { EngineImageStore } from './engine-image-store.js';
import { loadImage } from './image-archive.js';
import { adoptImage, labelImage } from './image-source.js';
import { planContext } from './plan-context.js';
import { buildByRailpack, type Railpack } from './railpack.js';

export interface ContainerBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment' | 'baseImages' | 'secretsKey'>;
  log: Logger;
  engine: Engine;
  /** Builds images from repositories without a Dockerfile; if it is null, the platform writes a Dockerfile for them. */
  railpack: Railpack | null;
  sandbox: Sandbox;
  source: RepositorySource;
  images: EngineImageStore;
  /** Builds static sites, whose images are folders. */
  sites: Builder;
  findAccount: FindAccount;
  toolchains: Pick<ToolchainStore, 'choose'>;
}

interface Places {
  folder: string;
  app: string;
  project: string;
}

export class ContainerBuild {
  readonly #options: ContainerBuilderOptions;
  readonly #request: BuildRequest;
  #context: BuildContext;
  readonly #limit: TimeLimit;

  constructor(options: ContainerBuilderOptions, request: BuildRequest, context: BuildContext) {
    this.#options = options;
    this.#request = request;
    this.#limit = new TimeLimit(request, context);
    this.#context = { ...context, signal: this.#limit.signal };
  }

  async build(folder: BuildFolder): Promise<BuiltImage | undefined> {
    const { configuration, kind } = this.#request;
    const { railpack, source } = this.#options;
    this.#context = await checkOut(source, folder.app, this.#request, this.#context, this.#limit);
    const app = await realpath(folder.app);
    const about = { app, ...projectOf(configuration, kind), railpack: railpack !== null };
    const plan = await this.#limit.within('looking at the repository', () =>
      readFiles('planContainer', about, { signal: this.#limit.signal }),
    );
    const places = { folder: folder.path, app, project: plan.project };
    if (plan.by === 'plan' && plan.plan.type === 'static') return undefined;
    return this.#limit.within('the build', () => {
      if (plan.by === 'dockerfile') return this.#fromDockerfile(places);
      if (plan.by === 'plan') return this.#fromPlan(plan.plan, places);
      return this.#byRailpack(railpack as Railpack, plan.startCommand, places);
    });
  }

  /** Pulls the configured image and stores it under one of the platform's own names. */
  async adopt(): Promise<BuiltImage> {
    return this.#limit.within('taking over the image', async () => {
      const labelled = await this.#engineBuild({ accounts: await this.#accounts() });
      const imageId = await adoptImage(this.#options.engine, this.#request, this.#context, labelled);
      return this.#keep(imageId, 'image', this.#request.configuration.startCommand.trim());
    });
  }

  async #fromDockerfile({ app, project }: Places): Promise<BuiltImage> {
    const { images, config, engine } = this.#options;
    const places = { app, project, ownPrefix: images.ownPrefix };
    const dockerfile = await openDockerfile(places, config, this.#request, this.#context);
    const build = await this.#engineBuild({
      accounts: await this.#accounts(),
      dockerfile: dockerfile.dockerfile,
      target: this.#request.configuration.dockerfileTarget,
      buildArgs: dockerfile.buildArgs,
      secrets: this.#request.environment,
      origin: 'the Dockerfile',
    });
    const imageId = await buildInEngine(engine, { ...build, context: packContext(dockerfile.content) }, this.#context);
    return this.#keep(imageId, 'docker', this.#request.configuration.startCommand.trim());
  }

  async #fromPlan(plan: BuildPlan, { app }: Places): Promise<BuiltImage> {
    const { engine, images, config } = this.#options;
    const { runtime } = plan;
    for (const line of explain(plan)) await this.#context.log(line);
    await this.#context.log('Builds a Dockerfile written for it');
    const build = await this.#engineBuild({ origin: 'BASE_IMAGES' });
    const own = toolsOfImage(config.baseImages.node ?? '');
    const tools = await this.#options.toolchains.choose(plan.versions, own, this.#context.signal);
    for (const { name, version, source } of tools) {
      await this.#context.log(`Installs ${shownName(name)} ${version} (${source})`);
    }
    const about = { plan, tools, request: this.#request, config, app, labels: images.labels.cache };
    const { content, buildArgs, cacheCleaner } = await planContext(about);
    if (build.noCache && cacheCleaner !== null) {
      await this.#context.log('Empties the caches of package managers');
      const context = packContext({ folders: [], files: { Dockerfile: cacheCleaner } });
      await buildInEngine(engine, { ...build, context, labels: images.labels.cache }, this.#context);
    }
    const imageId = await buildInEngine(engine, { ...build, context: packContext(content), buildArgs }, this.#context);
    const kept = await this.#keep(imageId, runtime, startInContainer(plan));
    const { releaseCommand } = plan;
    return releaseCommand === undefined ? kept : { ...kept, manifest: { ...kept.manifest, releaseCommand } };
  }

  async #byRailpack(railpack: Railpack, startCommand: string | null, places: Places): Promise<BuiltImage> {
    const { engine, config, sandbox } = this.#options;
    const { dataDir, buildEnvironment } = config;
    const { id, serviceId } = this.#request;
    await this.#context.log('Builds with Railpack');
    const labelled = await this.#engineBuild({});
    const name = `ranvier/${serviceId}:railpack-${id}`;
    const archive = await buildByRailpack(railpack, {
      sandbox,
      request: this.#request,
      context: this.#context,
      deadline: this.#limit.deadline,
      folder: places.folder,
      app: places.app,
      project: relative(places.app, places.project),
      cacheKey: labelled.cacheNamespace,
      cache: await openCache({ dataDir, log: this.#options.log }, this.#request, this.#context),
      name,
      startCommand,
      buildEnvironment,
    });
    await loadImage(engine, archive, name, this.#context.signal);
    const imageId = await labelImage(engine, name, this.#context, labelled);
    return this.#keep(imageId, 'railpack', '');
  }

  async #engineBuild(build: Partial<EngineBuild>): Promise<Omit<EngineBuild, 'context'>> {
    const { config, images } = this.#options;
    if (this.#request.clearCache) await this.#context.log('Builds without any cache, because clearCache is set');
    return {
      dockerfile: 'Dockerfile',
      target: '',
      origin: 'the service',
      buildArgs: {},
      secrets: {},
      labels: images.labels.image,
      noCache: this.#request.clearCache,
      memoryMb: buildMemoryMb(this.#request),
      accounts: new Map(),
      cacheNamespace: cacheNamespace(config.secretsKey, this.#request.serviceId),
      ...build,
    };
  }

  #accounts(): Promise<Accounts> {
    return accountsOf(this.#request, this.#options.findAccount);
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
        // These three settings are empty, because the image itself contains them.
        workingDirectory: '',
        publishDirectory: '',
        environment: {},
      },
    };
  }
}
