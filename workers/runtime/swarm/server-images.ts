import type { Config } from '../../../shared/core/config.js';
import type { Logger } from '../../../shared/core/log.js';
import type { BuiltImage } from '../../../shared/images/model.js';
import { DATABASE_VERSIONS } from '../../../shared/services/configuration.js';
import type { DataKind } from '../../../shared/services/model.js';
import { EngineImageStore } from '../../builders/engine-images/engine-image-store.js';
import { type DataBuilder, serverManifest } from '../../data/data-builder.js';
import { type Engine, unlessGone } from '../../docker/docker-engine.js';
import { pullImage, resolveDigest } from '../../docker/pull-image.js';
import { type Registry, type RegistryAccount, registryOf } from '../../docker/registry-accounts.js';
import { BuildError } from '../../failures/explained-errors.js';
import { PullError } from '../../failures/pull-error.js';

interface Deps {
  config: Pick<Config, 'dataImages'>;
  engine: Engine;
  registry: Registry | null;
}

/** No official image of a database is larger. */
const MAX_IMAGE_BYTES = 8 * 1024 ** 3;

function imageName({ dataImages }: Deps['config'], kind: DataKind, version: string): string {
  return dataImages[kind].replaceAll('{version}', version);
}

/** Only images in the platform's own registry need its credentials. */
function accountFor(name: string, registry: Registry | null): RegistryAccount | undefined {
  return registry !== null && name.startsWith(`${registry.prefix}/`) ? registry.auth : undefined;
}

/** Provides the images of database servers that run in containers. */
export function createSwarmDataBuilder(
  config: Pick<Config, 'dataImages' | 'docker'>,
  engine: Engine,
  installationId: string,
  log: Logger,
): DataBuilder {
  const registry = registryOf(config);
  const images = new EngineImageStore({ engine, registry, installationId, log });
  return {
    async build(kind, { databaseVersion }, { signal, log }): Promise<BuiltImage> {
      const name = imageName(config, kind, databaseVersion);
      let found = await unlessGone(engine.calls.getImage(name).inspect());
      if (!found) {
        await pullImage(engine, name, { account: accountFor(name, registry), signal, log }).catch((error: unknown) => {
          throw error instanceof PullError ? new BuildError(error.message) : error;
        });
        found = await engine.calls.getImage(name).inspect();
      }
      await log(`Uses ${name}`);
      const kept = await images.keep(found.Id, kind, { signal, limitBytes: MAX_IMAGE_BYTES, log });
      const manifest = serverManifest(kind, { reference: kept.reference });
      return { digest: kept.digest, manifest, sizeBytes: kept.sizeBytes };
    },
  };
}

/** Returns the kinds of databases whose image the engine has or can pull. */
export async function findSwarmKinds(deps: Deps): Promise<DataKind[]> {
  const versions: Record<DataKind, readonly string[]> = { postgres: DATABASE_VERSIONS, redis: [''] };
  const kinds: DataKind[] = [];
  for (const kind of ['postgres', 'redis'] as const) {
    const names = versions[kind].map((version) => imageName(deps.config, kind, version));
    if ((await hasAny(deps.engine, names)) || (await canPull(deps, names.at(-1) ?? ''))) kinds.push(kind);
  }
  return kinds;
}

async function hasAny({ calls }: Engine, names: readonly string[]): Promise<boolean> {
  for (const name of names) if (await unlessGone(calls.getImage(name).inspect())) return true;
  return false;
}

async function canPull({ engine, registry }: Omit<Deps, 'config'>, name: string): Promise<boolean> {
  return resolveDigest(engine, name, accountFor(name, registry)).then(
    () => true,
    () => false,
  );
}
