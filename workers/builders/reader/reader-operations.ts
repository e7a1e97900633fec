import { readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ServiceKind } from '../../../shared/services/model.js';
import { type BuildPlan, givenStart, isSite, planBuild, type Settings, wantsDockerfile } from '../build-plan.js';
import { type DockerfileBuild, type DockerfileInput, readDockerfile } from '../container/dockerfile-context.js';
import { type PackedContent, packFolders } from '../container/pack-folders.js';
import { renameArchive } from '../container/rename-archive.js';
import { createPathFilter } from '../path-filter.js';
import { folderInside, publishedFolder, readProject } from '../project-files.js';
import { type SealedTree, type SealOptions, sealTree } from '../seal-tree.js';

interface Project {
  /** Real path of the folder with the repository's files. */
  app: string;
  rootDirectory: string;
  kind: ServiceKind;
  settings: Settings;
}

/** How a project becomes an image of a container engine. */
export type ContainerPlan = { project: string } & (
  | { by: 'dockerfile' }
  | { by: 'railpack'; startCommand: string | null }
  | { by: 'plan'; plan: BuildPlan }
);

/** Operations on a repository's files that run in a process of their own. Input and output are JSON. */
export const OPERATIONS = {
  /** Removes the files that the path filters leave out; returns how many. */
  filterPaths: ({ directory, include, ignore }: { directory: string; include: string[]; ignore: string[] }) => {
    const filter = createPathFilter(include, ignore);
    return removeFiles(directory, (path) => !filter.keeps(path));
  },

  planProcess: async ({ app, rootDirectory, kind, settings }: Project) => {
    const project = await folderInside(app, rootDirectory, 'rootDirectory');
    return { project, plan: planBuild(await readProject(project), kind, settings) };
  },

  planContainer: async (input: Project & { railpack: boolean }): Promise<ContainerPlan> => {
    const { app, rootDirectory, kind, settings, railpack } = input;
    const project = await folderInside(app, rootDirectory, 'rootDirectory');
    const files = await readProject(project);
    if (wantsDockerfile(files, kind, settings)) return { project, by: 'dockerfile' };
    if (railpack && settings.buildMethod === 'railpack' && !isSite(files, kind, settings)) {
      return { project, by: 'railpack', startCommand: givenStart(files, kind, settings) };
    }
    return { project, by: 'plan', plan: planBuild(files, kind, settings, { containers: true }) };
  },

  readDockerfile: (input: DockerfileInput): Promise<DockerfileBuild> => readDockerfile(input),

  publishedFolder: (input: Parameters<typeof publishedFolder>[0]) => publishedFolder(input),

  sealTree: ({ folder, ...options }: SealOptions & { folder: string }): Promise<SealedTree> =>
    sealTree(folder, options),
} as const;

/** Operations that answer with a stream. */
export const STREAMS = {
  /** A build context as tar. */
  packContext: (content: PackedContent): Readable => packFolders(content),
  /** Renames the image of an archive, which it reads from the standard input. */
  renameArchive: ({ name }: { name: string }): Readable => renameArchive(process.stdin, name),
} as const;

export type OperationName = keyof typeof OPERATIONS;
export type Input<N extends OperationName> = Parameters<(typeof OPERATIONS)[N]>[0];
export type Output<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]>>;
export type StreamName = keyof typeof STREAMS;
export type StreamInput<N extends StreamName> = Parameters<(typeof STREAMS)[N]>[0];

/** Removes files below a folder, and folders that become empty; returns how many files it removed. */
async function removeFiles(root: string, isUnwanted: (path: string) => boolean): Promise<number> {
  return (await removeBelow(root, '', isUnwanted)).removed;
}

async function removeBelow(
  root: string,
  folder: string,
  isUnwanted: (path: string) => boolean,
): Promise<{ removed: number; isEmpty: boolean }> {
  let removed = 0;
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  let left = entries.length;
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      const below = await removeBelow(root, path, isUnwanted);
      removed += below.removed;
      if (!below.isEmpty || below.removed === 0) continue;
      await rmdir(join(root, path));
      left -= 1;
    } else if (isUnwanted(path)) {
      await unlink(join(root, path));
      removed += 1;
      left -= 1;
    }
  }
  return { removed, isEmpty: left === 0 };
}
