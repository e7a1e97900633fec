import { readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Detection } from '../../../shared/detections/model.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { FoundTemplates } from '../../../shared/templates/store.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { InstalledInput, InstalledNode } from '../dependencies/installed-node.js';
import { type InstallationInput, isInstalled, lockedInstall } from '../dependencies/locked-install.js';
import { hasNothingToInstall } from '../dependencies/nothing-to-install.js';
import type { FoundApplication } from '../detection/find-applications.js';
import type { DockerfileBuild, DockerfileInput } from '../dockerfile/read-dockerfile.js';
import type { PackedContent } from '../engine-images/pack-folders.js';
import { createPathFilter } from '../files/path-filter.js';
import { folderInside, readProject } from '../files/project-files.js';
import type { BuildPlan, Settings } from '../plan/plan-model.js';
import { type SealedTree, type SealOptions, sealTree } from '../result/seal-tree.js';
import { type SettleInput, settleResult } from '../result/start-or-site.js';

interface Project {
  /** Real path of the folder with the repository's files. */
  app: string;
  rootDirectory: string;
  kind: ServiceKind;
  settings: Settings;
}

export interface ProcessPlan {
  /** Real path of the project's folder. */
  project: string;
  plan: BuildPlan;
  applications: FoundApplication[];
  /**
   * Digest of the files that determine the installed packages (`lockedInstall`). Null if other things affect the
   * packages too. The installation is then never skipped.
   */
  locked: string | null;
}

/** How an image for a container engine is built from a project. */
export type ContainerPlan = { project: string } & (
  | { by: 'dockerfile' }
  | { by: 'railpack'; startCommand: string | null }
  | { by: 'plan'; plan: BuildPlan }
);

/** Loads the code for detection only when an operation needs it, so that other operations start faster. */
const detection = () => import('../detection/detect-project.js');

/** Operations on a repository's files that run in a separate process. Input and output are JSON. */
export const OPERATIONS = {
  /** Removes the files that the path filters exclude. Returns their number. */
  filterPaths: ({ directory, include, ignore }: { directory: string; include: string[]; ignore: string[] }) => {
    const filter = createPathFilter(include, ignore);
    return removeFiles(directory, (path) => !filter.keeps(path));
  },

  /** Returns the real path of the project's folder if its Dockerfile is to be built; otherwise null. */
  dockerfileProject: async ({ app, rootDirectory, kind, settings }: Project): Promise<string | null> => {
    const folder = await folderInside(app, rootDirectory, 'rootDirectory');
    const { decidesHere } = await import('../plan/build-plan.js');
    return decidesHere(await readProject(folder), kind, settings) ? folder : null;
  },

  planProcess: async (input: Project): Promise<ProcessPlan> => {
    const { detectAndPlan } = await detection();
    const { project, plan: full, applications } = await detectAndPlan(input, { containers: false });
    const plan = (await hasNothingToInstall(input.app, full)) ? withoutInstallation(full) : full;
    return {
      project: join(input.app, project.folder),
      plan,
      applications,
      locked: await lockedInstall(input.app, plan),
    };
  },

  planContainer: async (input: Project & { railpack: boolean }): Promise<ContainerPlan> => {
    const { app, rootDirectory, kind, settings, railpack } = input;
    const folder = await folderInside(app, rootDirectory, 'rootDirectory');
    const asked = await readProject(folder);
    const { wantsDockerfile } = await import('../plan/build-plan.js');
    const { givenStart } = await import('../plan/plan-parts.js');
    if (wantsDockerfile(asked, kind, settings)) return { project: folder, by: 'dockerfile' };
    const { detectAndPlan, SeveralApplicationsError } = await detection();
    const usesRailpack = railpack && settings.buildMethod === 'railpack';
    const planned = await detectAndPlan(input, { containers: true }).catch((error: unknown) => {
      // If detection fails, Railpack is tried, which supports more languages. It cannot choose between several
      // applications either.
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

  detect: async (input: {
    app: string;
    rootDirectory: string;
    containers: boolean;
  }): Promise<Omit<Detection, 'branch' | 'commitSha'>> => {
    const { describeDetection } = await import('../detection/describe-detection.js');
    return describeDetection(input);
  },

  readDockerfile: async (input: DockerfileInput): Promise<DockerfileBuild> => {
    const { readDockerfile } = await import('../dockerfile/read-dockerfile.js');
    return readDockerfile(input);
  },

  isInstalled: (input: InstallationInput): Promise<boolean> => isInstalled(input),

  installedNode: async (input: InstalledInput): Promise<InstalledNode> => {
    const { installedNode } = await import('../dependencies/installed-node.js');
    return installedNode(input);
  },

  readTemplates: async (input: { app: string }): Promise<FoundTemplates> => {
    const { readTemplates } = await import('../../templates/read-templates.js');
    return readTemplates(input);
  },

  settleResult: (input: SettleInput) => settleResult(input),

  sealTree: ({ folder, ...options }: SealOptions & { folder: string }): Promise<SealedTree> =>
    sealTree(folder, options),
} as const;

/** Operations whose result is a stream. */
export const STREAMS = {
  /** Returns a build context as tar. */
  packContext: async (content: PackedContent): Promise<Readable> => {
    const { packFolders } = await import('../engine-images/pack-folders.js');
    return packFolders(content);
  },
  /** Renames the image in an archive, which is read from standard input. */
  renameArchive: async ({ name }: { name: string }): Promise<Readable> => {
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
