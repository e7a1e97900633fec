import { isRouted, type ServiceKind } from '../../../shared/services/model.js';
import { BuildError, IMAGES_MISSING } from '../../failures/explained-errors.js';
import type { DetectedProject } from '../detection/detected-project.js';
import { ENTRY_FILES } from '../detection/entry-files.js';
import type { ProjectFiles } from '../files/project-files.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from '../languages/language.js';
import { LANGUAGES, languageNamed, languageOf, MARKS } from '../languages/languages.js';
import { node } from '../languages/node.js';
import { planNode } from './node-plan.js';
import type { BuildCapabilities, BuildPlan, Settings } from './plan-model.js';
import { assertRouted, givenStart, lineOfProcfile, NoApplicationError, noStart, shared } from './plan-parts.js';

/**
 * The languages with a default base image (BASE_IMAGES). In a repository with another language, its Dockerfile is used
 * even if the settings do not require it.
 */
const IMAGED: readonly string[] = ['node', 'python', 'go'];

/** Decides how to build and start a project that is not built from its Dockerfile. Throws `BuildError`. */
export function planBuild(
  project: DetectedProject,
  kind: ServiceKind,
  settings: Settings,
  capabilities: BuildCapabilities = { containers: false },
): BuildPlan {
  const plan = planProject(project, kind, settings, capabilities);
  const releaseCommand = lineOfProcfile(project.files, 'release');
  return releaseCommand === null ? plan : { ...plan, releaseCommand };
}

function planProject(
  project: DetectedProject,
  kind: ServiceKind,
  settings: Settings,
  { containers }: BuildCapabilities,
): BuildPlan {
  const { sourceType, runtime, buildMethod } = settings;
  const isImage = [sourceType, runtime, buildMethod].includes('image');
  if (!containers && (isImage || asksForDockerfile(settings))) throw new BuildError(IMAGES_MISSING);
  const { files } = project;
  const language = chooseLanguage(files, settings);
  if (language === node || (language === null && (project.app !== null || isScript(project, settings))))
    return planNode(project, kind, settings);
  const plan = language?.plan(files) ?? EMPTY_PLAN;
  const command = givenStart(files, kind, settings) ?? platformStart(project) ?? plan.start;
  if (isSite(project, kind, settings)) return filesPlan(project, kind, plan, settings);
  if (command !== null) return processPlan(project, language?.runtime ?? 'auto', plan, settings, command);
  throw language === null ? unknownProject(files, containers) : noStart(plan, kind);
}

/** Returns true if the project is a static site. Not used for Node.js projects, for which `planNode` decides. */
function isSite(project: DetectedProject, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod } = settings;
  const { files } = project;
  if (kind === 'static' || buildMethod === 'static' || runtime === 'static') return true;
  const page = runtime === 'auto' && isRouted(kind) && project.pages.length > 0;
  return page && givenStart(files, kind, settings) === null && languageOf(files) === null;
}

/**
 * Returns true if a container engine is to build the project's Dockerfile. If the settings do not ask for it, they must
 * leave the choice open, and the project must have a Dockerfile, no Procfile, and no language of `IMAGED`.
 */
export function wantsDockerfile(files: ProjectFiles, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod, startCommand } = settings;
  if (asksForDockerfile(settings)) return true;
  const open = kind !== 'static' && runtime === 'auto' && buildMethod === 'railpack' && startCommand.trim() === '';
  if (!open || !files.has('Dockerfile') || files.has('Procfile')) return false;
  const language = languageOf(files);
  return language === null || !IMAGED.includes(language.runtime);
}

/** Decides like `wantsDockerfile`, for a host without a container engine. A known language takes precedence. */
export function decidesHere(files: ProjectFiles, kind: ServiceKind, settings: Settings): boolean {
  if (!wantsDockerfile(files, kind, settings)) return false;
  return asksForDockerfile(settings) || languageOf(files) === null;
}

/** Returns true if the settings explicitly require the Dockerfile. */
export function asksForDockerfile({ runtime, buildMethod }: Pick<Settings, 'runtime' | 'buildMethod'>): boolean {
  return buildMethod === 'dockerfile' || runtime === 'docker';
}

function chooseLanguage(files: ProjectFiles, { runtime }: Settings): Language | null {
  return runtime === 'auto' || runtime === 'static' ? languageOf(files) : languageNamed(runtime);
}

/**
 * Returns true if a project without a package.json has a file that Node.js can start. Beside HTML pages, only a file
 * named `server` counts: files such as `app.js` may be scripts of the pages.
 */
function isScript({ files, pages }: DetectedProject, { runtime, startCommand }: Settings): boolean {
  if (runtime !== 'auto' || startCommand.trim() !== '' || files.has('Procfile')) return false;
  if (LANGUAGES.some((language) => language !== node && language.matches(files))) return false;
  return ENTRY_FILES.some(
    (file) => !file.includes('/') && files.has(file) && (pages.length === 0 || /^server\b/.test(file)),
  );
}

function platformStart({ platforms }: DetectedProject): string | null {
  return platforms.find(({ startCommand, forSites }) => startCommand !== null && !forSites)?.startCommand ?? null;
}

function processPlan(
  project: DetectedProject,
  runtime: string,
  plan: LanguagePlan,
  settings: Settings,
  startCommand: string,
): BuildPlan {
  return {
    ...unfolded(project, plan, settings),
    type: 'process',
    runtime,
    startCommand,
    starts: [
      { command: startCommand, needs: null, direct: startCommand === plan.start ? (plan.startProgram ?? null) : null },
    ],
    publish: null,
  };
}

/** Without a build command, nothing is installed, and the files are published as they are. */
function filesPlan(project: DetectedProject, kind: ServiceKind, plan: LanguagePlan, settings: Settings): BuildPlan {
  assertRouted(kind);
  const said = project.platforms.find(({ buildCommand }) => buildCommand !== null)?.buildCommand ?? '';
  const built = unfolded(project, plan, { ...settings, buildCommand: settings.buildCommand.trim() || said });
  const needed = built.build.length > 0 ? built : unfolded(project, EMPTY_PLAN, settings);
  const folders = project.platforms.flatMap(({ publishDirectory: path }) => (path === null ? [] : [path]));
  const singlePage = project.platforms.some((platform) => platform.singlePage);
  return {
    ...needed,
    type: 'static',
    runtime: 'static',
    startCommand: '',
    starts: [],
    publish: { folders, singlePage, pages: project.pages },
  };
}

function unfolded({ folder, notes }: DetectedProject, plan: LanguagePlan, { buildCommand }: Settings) {
  const build = buildCommand.trim() === '' ? plan.build : [buildCommand.trim()];
  const folders = { install: folder, build: folder, project: folder };
  return { ...shared(plan), build, folders, framework: null, explanation: [...notes] };
}

function unknownProject(files: ProjectFiles, containers: boolean): BuildError {
  if (files.has('Dockerfile') && !containers) return new BuildError(IMAGES_MISSING);
  return new NoApplicationError(
    `no application was found: there is no ${[...MARKS, 'Procfile'].join(', ')} or index.html` +
      `${containers ? ' or Dockerfile' : ''} in its root directory; set rootDirectory to the folder of the application, or set startCommand`,
  );
}
