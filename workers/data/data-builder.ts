import { createHash } from 'node:crypto';
import type { BuiltImage, ImageManifest } from '../../shared/images/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { DataKind } from '../../shared/services/model.js';
import type { BuildContext } from '../builders/builder.js';
import type { ToolchainStore } from '../builders/toolchains/toolchain-store.js';

/** Provides the program of a database server. Throws `BuildError` and `RegistryFault`. */
export interface DataBuilder {
  build(kind: DataKind, configuration: ServiceConfiguration, context: BuildContext): Promise<BuiltImage>;
}

/** Creates the builder for servers that run as processes. PostgreSQL is installed; redis must be on the host. */
export function createProcessDataBuilder(toolchains: Pick<ToolchainStore, 'providePostgres'>): DataBuilder {
  return {
    async build(kind, { databaseVersion }, context) {
      const tools = kind === 'postgres' ? [await toolchains.providePostgres(databaseVersion, context)] : [];
      await context.log(kind === 'postgres' ? `Uses ${tools.join()}` : "Uses the host's redis");
      return imageOf(kind, tools);
    },
  };
}

function imageOf(kind: DataKind, tools: string[]): BuiltImage {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, tools]))
    .digest('hex');
  return { digest, manifest: serverManifest(kind, { tools }), sizeBytes: 0 };
}

export function serverManifest(kind: DataKind, origin: { tools: string[] } | { reference: string }): ImageManifest {
  const files = { startCommand: '', workingDirectory: '', publishDirectory: '', environment: {} };
  return { type: 'process', runtime: kind, ...files, ...origin };
}

/** Returns true for the image of a database server that uses this host's tools and so has no files. */
export function isDataImage({ runtime, reference }: Pick<ImageManifest, 'runtime' | 'reference'>): boolean {
  return (runtime === 'postgres' || runtime === 'redis') && reference === undefined;
}
