import type { ServiceKind } from '../../../shared/services/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import { folderInside } from '../files/project-files.js';
import { LANGUAGES } from '../languages/languages.js';
import { node } from '../languages/node.js';
import { shell } from '../languages/shell.js';
import { planBuild } from '../plan/build-plan.js';
import type { BuildCapabilities, BuildPlan, Settings } from '../plan/plan-model.js';
import { NoApplicationError } from '../plan/plan-parts.js';
import { chooseMain } from './choose-application.js';
import { type DetectedProject, ProjectReader } from './detected-project.js';
import { ENTRY_FILES } from './entry-files.js';
import {
  type FoundApplication,
  findApplications,
  hasSources,
  isApplication,
  isOwnApplication,
} from './find-applications.js';
import { platformSettings } from './platform-files.js';
import { inFolder, normal, parentOf, readTree } from './repository-tree.js';

export interface DetectInput {
  /** Real path of the folder with the repository's files. */
  app: string;
  rootDirectory: string;
  kind: ServiceKind;
  settings: Settings;
}

export interface Detected {
  project: DetectedProject;
  /** The applications that were found in subfolders; empty if none were searched for. */
  applications: FoundApplication[];
}

/**
 * Finds the project that a service deploys, and plans its build. If the root of the repository is no application, the
 * main application below it is deployed. Throws `BuildError`.
 */
export async function detectAndPlan(
  input: DetectInput,
  capabilities: BuildCapabilities,
): Promise<Detected & { plan: BuildPlan }> {
  const detected = await detectProject(input, capabilities);
  const plan = (project: DetectedProject) => planBuild(project, input.kind, input.settings, capabilities);
  try {
    return { ...detected, plan: plan(detected.project) };
  } catch (error) {
    if (!(error instanceof NoApplicationError) || normal(input.rootDirectory) !== '') throw error;
    const { applications } = detected;
    if (applications.length === 0) throw error;
    const project = await chooseApplication(await readerOf(input.app), applications, input.kind, detected.project);
    return { project, applications, plan: plan(project) };
  }
}

/** Reads the project in `rootDirectory`. Below a root that is no application, reads the main application instead. */
export async function detectProject(
  { app, rootDirectory, kind, settings }: DetectInput,
  { containers }: BuildCapabilities,
): Promise<Detected> {
  await folderInside(app, rootDirectory, 'rootDirectory');
  const reader = await readerOf(app);
  const folder = normal(rootDirectory);
  const project = await readFolder(reader, folder, kind, []);
  // Only a folder that is the root of the repository or of a workspace is searched for applications in its subfolders.
  if (folder !== '' && project.workspace?.folder !== folder) return { project, applications: [] };
  const named = project.platforms.find((platform) => platform.rootDirectory !== null);
  if (folder === '' && named?.rootDirectory != null && reader.tree.kind(named.rootDirectory) === 'directory') {
    const note = `Builds ${named.rootDirectory}, because ${named.file} says so; set rootDirectory to build another folder`;
    return { project: await readFolder(reader, named.rootDirectory, kind, [note], project), applications: [] };
  }
  const applications = await findApplications(reader, project.workspace);
  const isOwn = project.workspace === null ? standsAlone(project, containers) : isOwnApplication(project, kind);
  if (isOwn || applications.length === 0 || settings.startCommand.trim() !== '') return { project, applications };
  return { project: await chooseApplication(reader, applications, kind, project), applications };
}

/** These files make a folder the project to build, even if its subfolders contain applications. */
const OWN_FILES = ['Procfile', 'index.html'];

function standsAlone({ app, files }: DetectedProject, containers: boolean): boolean {
  if (app !== null && !hasSources(app)) return false;
  // A package.json alone does not make an application: in a repository of examples, it may only list tools.
  if (app !== null && (app.manifest.main !== null || isApplication(app))) return true;
  if (app !== null && ['start', 'build', 'dev', 'serve'].some((name) => app.manifest.scripts[name] !== undefined))
    return true;
  // An entry file in a subfolder that has a package.json belongs to that package.
  const isOwn = (file: string) => parentOf(file) === '' || !files.has(inFolder(parentOf(file), 'package.json'));
  const own = [...OWN_FILES, ...ENTRY_FILES.filter(isOwn), ...(containers ? ['Dockerfile'] : [])];
  return (
    own.some(files.has) ||
    LANGUAGES.some((language) => language !== node && language !== shell && language.matches(files))
  );
}

async function readerOf(app: string): Promise<ProjectReader> {
  return new ProjectReader(app, await readTree(app));
}

/** Thrown if a repository has several applications and none is clearly the main one. */
export class SeveralApplicationsError extends BuildError {
  readonly applications: readonly FoundApplication[];

  constructor(message: string, applications: readonly FoundApplication[]) {
    super(message);
    this.applications = applications;
  }
}

/** Reads the main application. Throws `SeveralApplicationsError` if none is clearly the main one. */
async function chooseApplication(
  reader: ProjectReader,
  applications: readonly FoundApplication[],
  kind: ServiceKind,
  root: DetectedProject,
): Promise<DetectedProject> {
  const choice = chooseMain({ applications, kind, root });
  if (choice === null) {
    throw new SeveralApplicationsError(
      `the repository has several applications: ${listed(applications)}; set rootDirectory to the folder of one of them`,
      applications,
    );
  }
  const { application, why } = choice;
  const others = applications.filter((one) => one !== application);
  const also = others.length === 0 ? '' : ` (it also has ${listed(others, 5)})`;
  const note = `Builds ${application.rootDirectory}, ${why}${also}; set rootDirectory to build another folder`;
  return readFolder(reader, application.rootDirectory, kind, [note]);
}

function listed(applications: readonly FoundApplication[], most = 20): string {
  const names = applications.slice(0, most).map(describe);
  return `${names.join(', ')}${applications.length > names.length ? ` and ${applications.length - names.length} more` : ''}`;
}

function describe({ rootDirectory, framework }: FoundApplication): string {
  return framework === null ? rootDirectory : `${rootDirectory} (${framework})`;
}

async function readFolder(
  reader: ProjectReader,
  folder: string,
  kind: ServiceKind,
  notes: string[],
  root?: DetectedProject,
): Promise<DetectedProject> {
  const files = await reader.files(folder);
  const own = platformSettings(files, kind, '');
  // Files for other hosting platforms in the root may have settings for this folder.
  const above = root === undefined ? [] : platformSettings(root.files, kind, folder);
  const workspace = await reader.workspaceOf(folder);
  return {
    folder,
    files,
    app: await reader.application(folder, files, workspace),
    workspace,
    platforms: [...own, ...above],
    pages: reader.pages(folder),
    notes,
  };
}
