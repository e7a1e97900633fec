import { isRecord, isText, recordOf } from '../files/json-values.js';
import type { PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import { generalVersion, versionFile } from './version-files.js';
import { type VersionWish, versionWish } from './version-wish.js';

const TOOL = 'Node.js';

export interface Folder {
  files: ProjectFiles;
  manifest: PackageManifest;
}

/**
 * Returns the Node.js version that a project requests; null if it requests none. Throws `BuildError`. A pin (volta,
 * .nvmrc) takes precedence over a range (engines), and the project takes precedence over the root of its workspace.
 */
export function nodeWish(project: Folder, root: Folder | null = null): VersionWish | null {
  const folders = root === null ? [project] : [project, root];
  for (const read of [pinnedNode, boundedNode]) {
    for (const folder of folders) {
      const wish = read(folder);
      if (wish !== null) return wish;
    }
  }
  return null;
}

function pinnedNode({ files, manifest }: Folder): VersionWish | null {
  const volta = recordOf(manifest.raw.volta).node;
  if (isText(volta)) return versionWish(volta, 'volta.node in package.json', TOOL);
  const version =
    versionFile(files, '.nvmrc') ?? versionFile(files, '.node-version') ?? generalVersion(files, ['nodejs', 'node']);
  return version && versionWish(version.text, version.source, TOOL);
}

function boundedNode({ manifest }: Folder): VersionWish | null {
  const runtime = namedVersion(devEngine(manifest, 'runtime'), 'node');
  if (runtime !== null) return versionWish(runtime, 'devEngines.runtime in package.json', TOOL);
  const engine = recordOf(manifest.raw.engines).node;
  return isText(engine) ? versionWish(engine, 'engines.node in package.json', TOOL) : null;
}

/** Returns the entries of `devEngines.<kind>`, which is an object or a list of objects. */
export function devEngine({ raw }: PackageManifest, kind: 'runtime' | 'packageManager'): Record<string, unknown>[] {
  const given = recordOf(raw.devEngines)[kind];
  return (Array.isArray(given) ? given : [given]).filter(isRecord);
}

/** Returns the version of the entry with this name; null if there is none. */
export function namedVersion(entries: readonly Record<string, unknown>[], name: string): string | null {
  const version = entries.find((entry) => entry.name === name)?.version;
  return isText(version) ? version : null;
}
