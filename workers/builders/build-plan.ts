import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import { isRouted, type ServiceKind } from '../../shared/services/model.js';
import { BuildError } from './builder.js';
import type { ProjectFiles } from './project-files.js';
import { go } from './toolchains/go-toolchain.js';
import { node } from './toolchains/node-toolchain.js';
import { python } from './toolchains/python-toolchain.js';
import type { Tool, Toolchain, ToolchainPlan } from './toolchains/toolchain.js';

/** The steps of a build, decided before any command runs. */
export interface BuildPlan
  extends Pick<ToolchainPlan, 'tools' | 'manifests' | 'searchPath' | 'environment' | 'buildEnvironment' | 'caches'> {
  type: 'process' | 'static';
  runtime: string;
  tools: Tool[];
  install: string[];
  build: string[];
  /** Empty for a static site. */
  startCommand: string;
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
  install: [],
  manifests: [],
  build: [],
  start: null,
  startAdvice: '',
  searchPath: [],
  environment: {},
  buildEnvironment: {},
  caches: {},
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
  files: ProjectFiles,
  kind: ServiceKind,
  settings: Settings,
  { containers }: BuildCapabilities = { containers: false },
): BuildPlan {
  if (!containers) refuseContainers(settings);
  const toolchain = chooseToolchain(files, settings, containers);
  const plan = toolchain?.plan(files) ?? NOTHING;
  if (isSite(files, kind, settings)) return staticPlan(kind, plan, settings);
  const start = givenStart(files, kind, settings) ?? plan.start;
  if (start !== null) return processPlan(toolchain?.runtime ?? 'auto', plan, settings, start);
  throw toolchain === null ? unknownProject(files, containers) : noStart(plan, kind);
}

/**
 * True if files are published and nothing runs: because the settings say so, or because the project has only a page.
 */
export function isSite(files: ProjectFiles, kind: ServiceKind, settings: Settings): boolean {
  const { runtime, buildMethod } = settings;
  if (kind === 'static' || buildMethod === 'static' || runtime === 'static') return true;
  const page = runtime === 'auto' && isRouted(kind) && files.has('index.html');
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

function processPlan(runtime: string, plan: ToolchainPlan, settings: Settings, startCommand: string): BuildPlan {
  return { ...steps(plan, settings), type: 'process', runtime, startCommand };
}

/** If nothing builds a site, nothing is installed either: its files are published as they are. */
function staticPlan(kind: ServiceKind, plan: ToolchainPlan, settings: Settings): BuildPlan {
  if (!isRouted(kind)) throw new BuildError(`a static site cannot be a ${kind} service; its kind is static or web`);
  const built = steps(plan, settings);
  const needed = built.build.length > 0 ? built : steps(NOTHING, settings);
  return { ...needed, type: 'static', runtime: 'static', startCommand: '' };
}

function steps(plan: ToolchainPlan, { buildCommand }: Settings) {
  const { tools, install, manifests, searchPath, environment, buildEnvironment, caches } = plan;
  const build = buildCommand.trim() === '' ? plan.build : [buildCommand.trim()];
  return { tools, install, manifests, build, searchPath, environment, buildEnvironment, caches };
}

function procfileCommand(files: ProjectFiles, kind: ServiceKind): string | null {
  const line = procfileLine(kind);
  return new RegExp(`^${line}:[ \\t]*(\\S.*)$`, 'm').exec(files.text('Procfile') ?? '')?.[1]?.trim() ?? null;
}

/** The line of a Procfile that says how a service of this kind is started. */
function procfileLine(kind: ServiceKind): string {
  return kind === 'worker' || kind === 'cron' ? kind : 'web';
}

function noStart(plan: ToolchainPlan, kind: ServiceKind): BuildError {
  const line = procfileLine(kind);
  return new BuildError(
    `nothing says how to start it: set startCommand, add a "${line}:" line to a Procfile, or ${plan.startAdvice}` +
      (isRouted(kind) ? '; for a site of files set buildMethod to static' : ''),
  );
}

function unknownProject(files: ProjectFiles, containers: boolean): BuildError {
  const foreign = Object.keys(FOREIGN).find((name) => files.has(name));
  if (foreign !== undefined) return unsupported(FOREIGN[foreign] ?? foreign, containers);
  if (files.has('Dockerfile') && !containers) {
    return new BuildError(`a Dockerfile cannot be built: ${CONTAINERS} set startCommand (and buildCommand)`);
  }
  return new BuildError(
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
