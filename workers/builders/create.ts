import type { Config } from '../../shared/config.js';
import type { Logger } from '../../shared/log.js';
import type { RegistryAccount } from '../docker/credentials.js';
import type { Engine } from '../docker/engine.js';
import { registryOf } from '../docker/registry.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { createOriginResolver, type OriginResolver } from '../sources/origin.js';
import type { RepositorySource } from '../sources/source.js';
import type { Builder, ImageStore } from './builder.js';
import { createContainerBuilder } from './container/container-builder.js';
import { createEngineImageStore } from './container/engine-image-store.js';
import type { Railpack } from './container/railpack.js';
import { createImageStore, type LocalImageStore } from './image-store.js';
import { createRepositoryBuilder } from './repository-builder.js';

export interface BuildersOptions {
  config: Config;
  log: Logger;
  installationId: string;
  sandbox: Sandbox;
  source: RepositorySource;
  /** The engine of a container runtime; null where the runtime has none. */
  engine: Engine | null;
  /** What builds images of repositories without a Dockerfile; null leaves it to Dockerfiles of our own. */
  railpack: Railpack | null;
  findAccount: (workspaceId: string, registryId: string) => Promise<RegistryAccount | null>;
}

export interface Builders {
  builder: Builder;
  images: ImageStore;
  origins: OriginResolver;
}

/**
 * What makes and keeps images for the configured runtime: folders for the processes of this host; with an engine, its
 * images for what runs, and folders for sites.
 */
export function createBuilders(options: BuildersOptions): Builders {
  const { config, log, sandbox, source, engine, railpack, installationId, findAccount } = options;
  const folders = createImageStore({ dataDir: config.dataDir, log });
  const sites = createRepositoryBuilder({ config, log, sandbox, source, images: folders });
  const registry = registryOf(config);
  const policy = {
    allowLocal: config.allowLocalRepositories,
    ownPrefix: registry === null ? null : `${registry.prefix}/ranvier`,
  };
  const origins = createOriginResolver({ source, policy, images: engine && { engine, findAccount } });
  if (engine === null) return { builder: sites, images: folders, origins };
  const images = createEngineImageStore({ engine, registry, installationId, log });
  return {
    builder: createContainerBuilder({ config, log, engine, railpack, sandbox, source, images, sites, findAccount }),
    images: joined(folders, images),
    origins,
  };
}

/** Images of both kinds; a manifest with a reference is one of the engine's. */
function joined(folders: LocalImageStore, images: ImageStore): ImageStore {
  return {
    has: (image) => (image.manifest.reference === undefined ? folders : images).has(image),
    sweep: async (isWanted) => (await folders.sweep(isWanted)) + (await images.sweep(isWanted)),
  };
}
