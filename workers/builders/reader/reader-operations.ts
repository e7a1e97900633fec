import { readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { BuildError } from '../../failures/explained-errors.js';
import { hasNothingToInstall, isInstalled, lockedInstall } from '../dependencies/locked-install.js';
import type { DetectInput } from '../detection/detect-project.js';
import { createPathFilter } from '../files/path-filter.js';
import { folderInside, readProject } from '../files/project-files.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { type SealOptions, sealTree } from '../result/seal-tree.js';
import { settleResult } from '../result/start-or-site.js';

type ContainerPlan = { project: string } & (
  | { by: 'dockerfile' }
  | { by: 'railpack'; startCommand: string | null }
  | { by: 'plan'; plan: BuildPlan }
);

const detection = () => import('../detection/detect-project.js');

/** Returns an operation whose code is loaded when it is needed, so that other operations start faster. */
function loaded<I, O>(load: () => Promise<(input: I) => O>) {
  return async (input: I): Promise<Awaited<O>> => await (await load())(input);
}

/** Operations on a repository's files that run in a separate process. Input and output are JSON. */
export const OPERATIONS = {
  filterPaths: async ({ directory, include, ignore }: { directory: string; include: string[]; ignore: string[] }) => {
    const filter = createPathFilter(include, ignore);
    return (await removeBelow(directory, '', (path) => !filter(path))).removed;
  },

  /** Returns the real path of the project's folder if its Dockerfile is to be built; otherwise null. */
  dockerfileProject: async ({ app, rootDirectory, kind, settings }: DetectInput): Promise<string | null> => {
    const folder = await folderInside(app, rootDirectory, 'rootDirectory');
    const { decidesHere } = await import('../plan/build-plan.js');
    return decidesHere(await readProject(folder), kind, settings) ? folder : null;
  },

  /** Plans a build without a container engine. */
  planProcess: async (input: DetectInput) => {
    const { detectAndPlan } = await detection();
    const { project, plan: full, applications } = await detectAndPlan(input, { containers: false });
    const plan = (await hasNothingToInstall(input.app, full)) ? withoutInstallation(full) : full;
    const locked = await lockedInstall(input.app, plan);
    return { project: join(input.app, project.folder), plan, applications, locked };
  },

  planContainer: async (input: DetectInput & { railpack: boolean }): Promise<ContainerPlan> => {
    const { app, rootDirectory, kind, settings, railpack } = input;
    const folder = await folderInside(app, rootDirectory, 'rootDirectory');
    const asked = await readProject(folder);
    const { wantsDockerfile } = await import('../plan/build-plan.js');
    const { givenStart } = await import('../plan/plan-parts.js');
    if (wantsDockerfile(asked, kind, settings)) return { project: folder, by: 'dockerfile' };
    const { detectAndPlan, SeveralApplicationsError } = await detection();
    const usesRailpack = railpack && settings.buildMethod === 'railpack';
    const planned = await detectAndPlan(input, { containers: true }).catch((error: unknown) => {
      // Railpack supports more languages than detection, but cannot choose between several applications either.
      const goesOn = usesRailpack && error instanceof BuildError && !(error instanceof SeveralApplicationsError);
      if (goesOn) return null;
      throw error;
    });
    if (planned === null) return { project: folder, by: 'railpack', startCommand: givenStart(asked, kind, settings) };
    const { project, plan } = planned;
    const place = join(app, project.folder);
    if (usesRailpack && plan.type !== 'static') {
      return { project: place, by: 'railpack', startCommand: givenStart(project.files, kind, settings) };
    }
    return { project: place, by: 'plan', plan };
  },

  detect: loaded(async () => (await import('../detection/describe-detection.js')).describeDetection),

  readDockerfile: loaded(async () => (await import('../dockerfile/read-dockerfile.js')).readDockerfile),

  isInstalled,

  installedNode: loaded(async () => (await import('../dependencies/installed-node.js')).installedNode),

  readTemplates: loaded(async () => (await import('../../templates/read-templates.js')).readTemplates),

  settleResult,

  sealTree: ({ folder, ...options }: SealOptions & { folder: string }) => sealTree(folder, options),
} as const;

/** Operations whose result is a stream. */
export const STREAMS = {
  packContext: loaded(async () => (await import('../engine-images/pack-folders.js')).packFolders),
  renameArchive: async ({ name }: { name: string }) => {
    const { renameArchive } = await import('../engine-images/rename-archive.js');
    return renameArchive(process.stdin, name);
  },
} as const;

export type OperationName = keyof typeof OPERATIONS;
export type Input<N extends OperationName> = Parameters<(typeof OPERATIONS)[N]>[0];
export type Output<N extends OperationName> = Awaited<ReturnType<(typeof OPERATIONS)[N]>>;
export type StreamName = keyof typeof STREAMS;
export type StreamInput<N extends StreamName> = Parameters<(typeof STREAMS)[N]>[0];

function withoutInstallation(plan: BuildPlan): BuildPlan {
  return { ...plan, install: [], explanation: [...plan.explanation, 'No dependencies: nothing is installed'] };
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
