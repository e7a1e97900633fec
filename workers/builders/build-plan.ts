import { posix } from 'node:path';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { isRouted, type ServiceKind } from '../../shared/services/model.js';
import { BuildError } from './builder.js';
import type { FoundFramework, Start } from './detection/application.js';
import type { DetectedProject } from './detection/detected-project.js';
import { decideNode, hasServer, type NodeDecision, previewScript } from './detection/node-application.js';
import { readManifest } from './detection/package-manifest.js';
import { workspaceBuild } from './detection/workspace.js';
import type { ProjectFiles } from './project-files.js';
import { go } from './toolchains/go-toolchain.js';
import { directStart, node } from './toolchains/node-toolchain.js';
import { python } from './toolchains/python-toolchain.js';
import type { Tool, Toolchain, ToolchainPlan } from './toolchains/toolchain.js';
import { NO_WISHES } from './toolchains/version-wish.js';

/** The steps of a build, decided before any command runs. */
export interface BuildPlan
  extends Pick<
    ToolchainPlan,
    'tools' | 'versions' | 'manifests' | 'searchPath' | 'environment' | 'buildEnvironment' | 'caches' | 'keptFolders'
  > {
  type: 'process' | 'static';
  runtime: string;
  tools: Tool[];
  install: string[];
  build: string[];
  /** Where the commands of `install` and `build` run, and where the application starts. Relative to the repository. */
  folders: { install: string; build: string; project: string };
  /** Empty for a static site. Otherwise the first of `starts`. */
  startCommand: string;
  /** In order of preference: the first whose file exists after the build is used. */
  starts: Start[];
  /** What is published if it is a site, or if no start can be used; null if files are never published. */
  publish: PublishPlan | null;
  framework: FoundFramework | null;
  /** Lines for the build's log: what was detected, why, and which setting changes it. */
  explanation: string[];
}

export interface PublishPlan {
  /** Folders below the project, in order of preference. Used if `publishDirectory` has its default value. */
  folders: string[];
  /** True if one page answers every path. */
  singlePage: boolean;
  /** Folders that had an index.html before the build, relative to the project. */
  pages: string[];
}

export type Settings = Pick<
  ServiceConfiguration,
  'runtime' | 'buildMethod' | 'sourceType' | 'buildCommand' | 'startCommand'
>;

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

const NOTHING: ToolchainPlan = {
  tools: [],
  versions: NO_WISHES,
  install: [],
  manifests: [],
  build: [],
  start: null,
  manager: '',
  startAdvice: '',
  searchPath: [],
  environment: {},
  buildEnvironment: {},
  caches: {},
  keptFolders: [],
};

/** What the installation can build besides folders. */
export interface BuildCapabilities {
  /** True if it builds images of a container engine, and so any Dockerfile. */
  containers: boolean;
}

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
  if (toolchain === node || (toolchain === null && project.app !== null)) return planNode(project, kind, settings);
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
export function isSite(project: DetectedProject, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod } = settings;
  const { files } = project;
  if (kind === 'static' || buildMethod === 'static' || runtime === 'static') return true;
  const page = runtime === 'auto' && isRouted(kind) && project.pages.length > 0;
  return page && givenStart(files, kind, settings) === null && !TOOLCHAINS.some((t) => t.matches(files));
}

/** The start command of the settings, or else of the Procfile; null if neither has one. */
export function givenStart(
  files: ProjectFiles,
  kind: ServiceKind,
  { startCommand }: Pick<Settings, 'startCommand'>,
): string | null {
  return startCommand.trim() || procfileCommand(files, kind);
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

function planNode(project: DetectedProject, kind: ServiceKind, settings: Settings): BuildPlan {
  const { files, workspace, platforms } = project;
  const app = project.app ?? { files, manifest: readManifest('{}'), framework: null, nx: null };
  const plan = workspace === null ? node.plan(files) : node.plan(workspace.files, files);
  const run = `${plan.manager} run`;
  const site = kind === 'static' || settings.buildMethod === 'static' || settings.runtime === 'static';
  const decision = decideNode({
    app,
    kind: site ? 'static' : kind,
    settings,
    platforms,
    procfile: procfileCommand(files, kind),
    run,
  });
  const given = settings.startCommand.trim();
  const starts = site ? [] : given !== '' ? [{ command: given, needs: null }] : decision.starts;
  if (starts.length === 0 && !site) addPreview(starts, decision, project, run);
  const isOpen = starts.length === 0;
  if (isOpen && !site && (!isRouted(kind) || (decision.build === null && project.pages.length === 0))) {
    throw noStart(plan, kind, decision.notes);
  }
  if (isOpen && !site && hasServer(app) && decision.publish.length === 0 && project.pages.length === 0) {
    throw noStart(plan, kind, decision.notes);
  }
  const needsBuild = decision.build !== null;
  const base = isOpen && !needsBuild ? NOTHING : plan;
  const steps = nodeSteps(project, decision, settings, run);
  return {
    ...shared(base),
    ...steps,
    type: isOpen ? 'static' : 'process',
    runtime: isOpen ? 'static' : 'node',
    searchPath: base === NOTHING ? [] : searchPathOf(project, plan),
    keptFolders: keptBelow(base.keptFolders, steps.folders),
    environment: { ...base.environment, ...decision.environment },
    buildEnvironment: { ...base.buildEnvironment, ...decision.buildEnvironment },
    manifests: workspace === null ? base.manifests : null,
    startCommand: starts[0]?.command ?? '',
    starts: starts.map((start) => ({ ...start, direct: directStart([files, workspace?.files], start.command) })),
    publish: isRouted(kind) ? publishPlan(project, decision) : refuseUnrouted(isOpen, kind),
    framework: decision.framework,
    explanation: [...project.notes, ...decision.notes],
  };
}

/** The project's folders that are kept for its next build, relative to where it is built. */
function keptBelow(folders: readonly string[], { build, project }: BuildPlan['folders']): string[] {
  const below = posix.relative(build, project);
  return folders.map((folder) => posix.join(below, folder));
}

/** A preview shows what a build has written. Pages are published without it. */
function addPreview(starts: Start[], { build, publish }: NodeDecision, { app }: DetectedProject, run: string): void {
  const script = app === null || build === null || publish.length > 0 ? null : previewScript(app);
  if (script !== null) starts.push({ command: `${run} ${script}`, needs: null, isPreview: true });
}

function refuseUnrouted(isStatic: boolean, kind: ServiceKind): null {
  if (isStatic) throw new BuildError(`a static site cannot be a ${kind} service; its kind is static or web`);
  return null;
}

/** Where and with which commands a Node project is installed and built. */
function nodeSteps(
  { folder, workspace }: DetectedProject,
  { build }: NodeDecision,
  { buildCommand }: Settings,
  run: string,
): Pick<BuildPlan, 'build' | 'folders'> {
  const root = workspace?.folder ?? folder;
  const isMember = workspace !== null && workspace.folder !== folder;
  if (!isMember || buildCommand.trim() !== '') {
    return { build: build === null ? [] : [build], folders: { install: root, build: folder, project: folder } };
  }
  return {
    build: workspaceBuild(workspace, folder, build, run),
    folders: { install: root, build: root, project: folder },
  };
}

/** Programs of the project itself, then those of its workspace. The folders are relative to where a command runs. */
function searchPathOf({ folder, workspace }: DetectedProject, { searchPath }: ToolchainPlan): string[] {
  if (workspace === null || workspace.folder === folder) return searchPath;
  const below = workspace.folder === '' ? folder : folder.slice(workspace.folder.length + 1);
  const up = below.split('/').map(() => '..');
  return searchPath.flatMap((path) => [path, [...up, path].join('/'), `${below}/${path}`]);
}

function publishPlan(project: DetectedProject, { publish, singlePage }: NodeDecision): PublishPlan {
  return { folders: publish, singlePage, pages: project.pages };
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

/** The part of a toolchain's plan that every plan takes over. */
function shared({ start: _start, startAdvice: _advice, build: _build, manager: _manager, ...rest }: ToolchainPlan) {
  return rest;
}

export function procfileCommand(files: ProjectFiles, kind: ServiceKind): string | null {
  const line = procfileLine(kind);
  return new RegExp(`^${line}:[ \\t]*(\\S.*)$`, 'm').exec(files.text('Procfile') ?? '')?.[1]?.trim() ?? null;
}

/** The line of a Procfile that says how a service of this kind is started. */
function procfileLine(kind: ServiceKind): string {
  return kind === 'worker' || kind === 'cron' ? kind : 'web';
}

/** Thrown if a folder is no application. There may be one in a folder below it. */
export class NoApplicationError extends BuildError {}

function noStart(plan: ToolchainPlan, kind: ServiceKind, notes: readonly string[] = []): BuildError {
  const line = procfileLine(kind);
  return new NoApplicationError(
    `nothing says how to start it: set startCommand, add a "${line}:" line to a Procfile, or ${plan.startAdvice}` +
      (isRouted(kind) ? '; for a site of files set buildMethod to static' : '') +
      (notes.length > 0 ? ` (${notes.join('; ')})` : ''),
  );
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
