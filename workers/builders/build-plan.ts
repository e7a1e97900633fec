import { isRouted, type ServiceKind } from '../../shared/services/model.js';
import { BuildError } from '../failures/explained.js';
import type { DetectedProject } from './detection/detected-project.js';
import { ENTRY_FILES } from './detection/entry-files.js';
import { planNode } from './node-plan.js';
import type { BuildCapabilities, BuildPlan, Settings } from './plan-model.js';
import { givenStart, NOTHING, NoApplicationError, noStart, shared } from './plan-parts.js';
import type { ProjectFiles } from './project-files.js';
import { go } from './toolchains/go-toolchain.js';
import { node } from './toolchains/node-toolchain.js';
import { python } from './toolchains/python-toolchain.js';
import type { Toolchain, ToolchainPlan } from './toolchains/toolchain.js';

/** Asked in this order: many Node projects contain a Python script, but few Python projects a package.json. */
const TOOLCHAINS: readonly Toolchain[] = [node, go, python];

const CONTAINERS = 'the runtime of this installation ("process") builds no containers; set RUNTIME=swarm, or';
/** File → language, for languages that this version cannot build. */
const FOREIGN: Readonly<Record<string, string>> = {
  Gemfile: 'ruby',
  'Cargo.toml': 'rust',
  'mix.exs': 'elixir',
  'composer.json': 'php',
  'index.php': 'php',
};

/**
 * Decides how to build and start a project. Settings take precedence over what the files suggest. With `containers`,
 * the caller must have checked `wantsDockerfile` first. Throws `BuildError`.
 */
export function planBuild(
  project: DetectedProject,
  kind: ServiceKind,
  settings: Settings,
  { containers }: BuildCapabilities = { containers: false },
): BuildPlan {
  if (!containers) refuseContainers(settings);
  const { files } = project;
  const toolchain = chooseToolchain(files, settings, containers);
  if (toolchain === node || (toolchain === null && (project.app !== null || isScript(project, settings))))
    return planNode(project, kind, settings);
  const plan = toolchain?.plan(files) ?? NOTHING;
  const command = givenStart(files, kind, settings) ?? platformStart(project) ?? plan.start;
  if (isSite(project, kind, settings)) return filesPlan(project, kind, plan, settings);
  if (command !== null) return processPlan(project, toolchain?.runtime ?? 'auto', plan, settings, command);
  throw toolchain === null ? unknownProject(files, containers) : noStart(plan, kind);
}

/**
 * True if files are published and nothing runs: because the settings say so, or because the project has only a page. A
 * Node project may also turn out to be one by its plan.
 */
function isSite(project: DetectedProject, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod } = settings;
  const { files } = project;
  if (kind === 'static' || buildMethod === 'static' || runtime === 'static') return true;
  const page = runtime === 'auto' && isRouted(kind) && project.pages.length > 0;
  return page && givenStart(files, kind, settings) === null && !TOOLCHAINS.some((t) => t.matches(files));
}

/** True if the Dockerfile decides what the project is: because the settings say so, or because no other file tells. */
export function wantsDockerfile(files: ProjectFiles, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod, startCommand } = settings;
  if (buildMethod === 'dockerfile' || runtime === 'docker') return true;
  const open = kind !== 'static' && runtime === 'auto' && buildMethod === 'railpack' && startCommand.trim() === '';
  return open && files.has('Dockerfile') && !files.has('Procfile') && !TOOLCHAINS.some((t) => t.matches(files));
}

function refuseContainers({ sourceType, runtime, buildMethod }: Settings): void {
  if (sourceType === 'image' || runtime === 'image' || buildMethod === 'image') {
    throw new BuildError(`an image cannot be deployed: ${CONTAINERS} deploy from a repository`);
  }
  if (runtime === 'docker' || buildMethod === 'dockerfile') {
    throw new BuildError(`a Dockerfile cannot be built: ${CONTAINERS} set runtime to auto and buildMethod to railpack`);
  }
}

function chooseToolchain(files: ProjectFiles, { runtime }: Settings, containers: boolean): Toolchain | null {
  if (runtime === 'auto' || runtime === 'static') return TOOLCHAINS.find((t) => t.matches(files)) ?? null;
  const chosen = TOOLCHAINS.find((t) => t.runtime === runtime);
  if (chosen === undefined) throw unsupported(runtime, containers);
  return chosen;
}

/** True for a server of one file, without a package.json. The scripts of pages have the same names. */
function isScript({ files, pages }: DetectedProject, { runtime, startCommand }: Settings): boolean {
  if (runtime !== 'auto' || startCommand.trim() !== '' || files.has('Procfile')) return false;
  if (Object.keys(FOREIGN).some(files.has)) return false;
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
  plan: ToolchainPlan,
  settings: Settings,
  startCommand: string,
): BuildPlan {
  return {
    ...unfolded(project, plan, settings),
    type: 'process',
    runtime,
    startCommand,
    starts: [{ command: startCommand, needs: null }],
    publish: null,
  };
}

/** If nothing builds a site, nothing is installed either: its files are published as they are. */
function filesPlan(project: DetectedProject, kind: ServiceKind, plan: ToolchainPlan, settings: Settings): BuildPlan {
  if (!isRouted(kind)) throw new BuildError(`a static site cannot be a ${kind} service; its kind is static or web`);
  const said = project.platforms.find(({ buildCommand }) => buildCommand !== null)?.buildCommand ?? null;
  const withSaid =
    said === null || settings.buildCommand.trim() !== '' ? settings : { ...settings, buildCommand: said };
  const built = unfolded(project, plan, withSaid);
  const needed = built.build.length > 0 ? built : unfolded(project, NOTHING, settings);
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

function unfolded({ folder, notes }: DetectedProject, plan: ToolchainPlan, { buildCommand }: Settings) {
  const build = buildCommand.trim() === '' ? plan.build : [buildCommand.trim()];
  const folders = { install: folder, build: folder, project: folder };
  return { ...shared(plan), build, folders, framework: null, explanation: [...notes] };
}

function unknownProject(files: ProjectFiles, containers: boolean): BuildError {
  const foreign = Object.keys(FOREIGN).find((name) => files.has(name));
  if (foreign !== undefined) return unsupported(FOREIGN[foreign] ?? foreign, containers);
  if (files.has('Dockerfile') && !containers) {
    return new BuildError(`a Dockerfile cannot be built: ${CONTAINERS} set startCommand (and buildCommand)`);
  }
  return new NoApplicationError(
    'the project is of no kind that can be built: there is no package.json, requirements.txt, pyproject.toml, go.mod, ' +
      `Procfile or index.html${containers ? ' or Dockerfile' : ''} in its root directory; check rootDirectory, or set startCommand`,
  );
}

function unsupported(language: string, containers: boolean): BuildError {
  return new BuildError(
    containers
      ? `a ${language} project is built with a Dockerfile: add one and set buildMethod to dockerfile; without one this ` +
          'version knows node, python, go and static sites'
      : `a ${language} project cannot be built: the runtime of this installation ("process") knows node, python, go and ` +
          'static sites; set RUNTIME=swarm and use a Dockerfile, or set runtime to one of those',
  );
}
