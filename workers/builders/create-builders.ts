import type { Config } from '../../shared/core/config.js';
import type { Engine } from '../docker/docker-engine.js';
import { registryOf } from '../docker/registry-accounts.js';
import { createOriginResolver, type DigestResolver, type OriginResolver } from '../sources/deployment-origin.js';
import type { Builder, ImageStore } from './builder.js';
import type { ContainerBuilderOptions } from './engine-images/container-build.js';
import { RegistryClient } from './oci-images/registry-client.js';
import { createRepositoryBuilder } from './repository-builder.js';
import { FolderImageStore } from './result/folder-image-store.js';
import type { ToolchainStore } from './toolchains/toolchain-store.js';

export interface BuildersOptions
  extends Pick<ContainerBuilderOptions, 'log' | 'railpack' | 'sandbox' | 'source' | 'findAccount'> {
  config: Config;
  installationId: string;
  /** The container engine; null if the runtime uses none. */
  engine: Engine | null;
  toolchains: ToolchainStore;
}

export interface Builders {
  builder: Builder;
  images: ImageStore;
  origins: OriginResolver;
}

/** Creates the builder, the image store and the origin resolver for the configured runtime. */
export async function createBuilders(options: BuildersOptions): Promise<Builders> {
  const { config, log, sandbox, source, engine, installationId, findAccount, toolchains } = options;
  const folders = new FolderImageStore({ dataDir: config.dataDir, log });
  const registryClient = new RegistryClient(config);
  const { allowLocalRepositories: allowLocal } = config;
  const imageBuilds =
    engine === null && sandbox.runsImages
      ? { config, log, sandbox, images: folders, registry: registryClient, allowLocal, findAccount }
      : null;
  const sites = createRepositoryBuilder({ config, log, sandbox, source, images: folders, toolchains, imageBuilds });
  const registry = registryOf(config);
  const policy = {
    allowLocal: config.allowLocalRepositories,
    ownPrefix: registry === null ? null : `${registry.prefix}/ranvier`,
  };
  const resolveDigest = engine === null ? registryClient.resolve.bind(registryClient) : inEngine(engine);
  const ofImages = engine !== null || imageBuilds !== null ? { resolveDigest, findAccount } : null;
  const origins = createOriginResolver({ source, policy, images: ofImages });
  if (engine === null) return { builder: sites, images: folders, origins };
  // Imported on demand: the engine's client is large, and only a runtime with a container engine needs it.
  const { createContainerBuilder } = await import('./engine-images/container-builder.js');
  const { EngineImageStore } = await import('./engine-images/engine-image-store.js');
  const images = new EngineImageStore({ engine, registry, installationId, log });
  return {
    builder: createContainerBuilder({ ...options, engine, images, sites }),
    images: joined(folders, images),
    origins,
  };
}

function inEngine(engine: Engine): DigestResolver {
  return async (name, account) => {
    const { resolveDigest } = await import('../docker/pull-image.js');
    return resolveDigest(engine, name, account);
  };
}

/** An image whose manifest has a `reference` is in the engine's store. */
function joined(folders: FolderImageStore, images: ImageStore): ImageStore {
  return {
    has: (image) => (image.manifest.reference === undefined ? folders : images).has(image),
    sweep: async (isWanted) => (await folders.sweep(isWanted)) + (await images.sweep(isWanted)),
  };
}
