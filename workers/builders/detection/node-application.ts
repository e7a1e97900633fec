import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import { type Application, dependsOn, type FoundFramework, majorOf, type Start } from './application.js';
import { FRAMEWORKS, type FrameworkRow } from './frameworks.js';
import type { PlatformSettings } from './platform-files.js';
import { type CommandUse, commandUse, fileOf } from './start-scripts.js';

export interface NodeInput {
  app: Application;
  kind: ServiceKind;
  settings: Pick<ServiceConfiguration, 'buildCommand'>;
  platforms: readonly PlatformSettings[];
  /** The Procfile's command; null if it has none for this kind. */
  procfile: string | null;
  /** How the package manager runs a script: `npm run`. */
  run: string;
}

/** How a Node project is built, and what becomes of the result. */
export interface NodeDecision {
  framework: FoundFramework | null;
  build: string | null;
  /** In order of preference; none if files are all there is. */
  starts: Start[];
  /** Folders of a site below the project, in order of preference. */
  publish: string[];
  singlePage: boolean;
  environment: Record<string, string>;
  buildEnvironment: Record<string, string>;
  /** For the build's log: what was passed over, and why. */
  notes: string[];
}

/** Decides for a project with a package.json. Settings of the service other than `buildCommand` are applied afterwards. */
export function decideNode(input: NodeInput): NodeDecision {
  const { app, settings, platforms, run } = input;
  const framework = chooseFramework(app);
  const known = { ...app, framework };
  const row = framework === null ? undefined : FRAMEWORKS[framework.id];
  const notes: string[] = [];
  const explicit = settings.buildCommand.trim() !== '';
  const likely = buildOf(known, row, run);
  const starts = input.kind === 'static' ? [] : startsOf({ ...input, app: known }, row, likely !== null, notes);
  const isSite = starts.length === 0;
  // A server may have a bundler among its packages without using it.
  const [first] = starts;
  const startsAnyway = row?.starts === undefined || (first?.needs != null && exists(known, first.needs));
  const unused = !isSite && app.nx === null && startsAnyway && likely !== null && !likely.startsWith(`${run} `);
  const said = platforms.find(({ buildCommand, forSites }) => buildCommand !== null && (isSite || !forSites));
  if (said !== undefined && !explicit)
    notes.push(`The build command is from ${said.file}; set buildCommand to change it`);
  const build = explicit
    ? settings.buildCommand.trim()
    : (said?.buildCommand ?? (unused ? null : likely) ?? compilation(known, starts, run));
  const siteOf = platforms.filter(({ publishDirectory }) => publishDirectory !== null);
  return {
    framework,
    build,
    starts,
    publish: [...siteOf.map(({ publishDirectory }) => publishDirectory ?? ''), ...publishOf(known, row, build)],
    singlePage: (row?.singlePage?.(known) ?? false) || platforms.some(({ singlePage }) => singlePage),
    environment: row?.environment ?? {},
    buildEnvironment: { ...legacyOpenssl(known), ...row?.buildEnvironment?.(known) },
    notes,
  };
}

/** The framework of an application: what build-info found, unless our table knows something that contains it. */
export function chooseFramework(app: Application): FoundFramework | null {
  const ids = Object.keys(FRAMEWORKS);
  const own = ids.find((id) => dependsOn(app, ...(FRAMEWORKS[id]?.packages ?? [])));
  const found = app.framework;
  const rank = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.length);
  if (own === undefined) return found;
  if (found !== null && rank(found.id) <= rank(own)) return found;
  const row = FRAMEWORKS[own];
  const range = row?.packages.map((name) => app.manifest.dependencies[name]).find((version) => version !== undefined);
  return { id: own, name: row?.name ?? own, version: /\d+(\.\d+){0,2}/.exec((range ?? '').slice(0, 100))?.[0] ?? null };
}

/** Scripts that build, in order of preference. Platforms run the ones with their names. */
const BUILD_SCRIPTS = [
  'build',
  'heroku-postbuild',
  'vercel-build',
  'build:prod',
  'build:production',
  'build:all',
  'generate',
];

function buildOf(app: Application, row: FrameworkRow | undefined, run: string): string | null {
  if (app.nx !== null && app.manifest.scripts.build === undefined) return `nx run ${app.nx.name}:build`;
  const instead = row?.buildInstead?.(app) ?? null;
  if (instead !== null) return instead;
  const script = BUILD_SCRIPTS.find((name) => app.manifest.scripts[name] !== undefined);
  if (script !== undefined) return `${run} ${script}`;
  if (typeof row?.build === 'function') return row.build(app);
  return row?.build ?? null;
}

/** Package → the first major version whose webpack works with the OpenSSL of Node 17 and later. */
const WITH_OLD_WEBPACK = {
  'react-scripts': 5,
  '@vue/cli-service': 5,
  webpack: 5,
  nuxt: 3,
  gatsby: 4,
  '@angular/cli': 12,
};

/** Webpack 4 uses a hash that OpenSSL 3 has only with this option. */
function legacyOpenssl({ manifest }: Application): Record<string, string> {
  const isOld = Object.entries(WITH_OLD_WEBPACK).some(([name, fixed]) => {
    const major = majorOf(manifest.dependencies[name]);
    return major !== null && major < fixed;
  });
  return isOld ? { NODE_OPTIONS: '--openssl-legacy-provider' } : {};
}

/** TypeScript is compiled if the file to start is not in the repository and nothing else would write it. */
function compilation(app: Application, starts: readonly Start[], run: string): string | null {
  const needs = starts[0]?.needs ?? null;
  if (needs === null || exists(app, needs) || !app.files.has('tsconfig.json')) return null;
  const script = ['compile', 'tsc', 'build:ts', 'build:server', 'transpile'].find(
    (name) => app.manifest.scripts[name] !== undefined,
  );
  if (script !== undefined) return `${run} ${script}`;
  return dependsOn(app, 'typescript') ? 'tsc' : null;
}

function startsOf(input: NodeInput, row: FrameworkRow | undefined, builds: boolean, notes: string[]): Start[] {
  const { app, procfile, platforms, run } = input;
  const { scripts } = app.manifest;
  const starts: Start[] = [];
  const take = (command: string, shown: string, from: string): Start | null => {
    const use = commandUse(command, scripts, app.manifest.main);
    const found = accepted(use, shown, command, app);
    if (found === null) notes.push(refusal(from, use));
    else if (use.use === 'watched')
      notes.push(`${from} is for development (${use.tool}); production runs "${found.command}"`);
    return found;
  };
  if (procfile !== null) starts.push(...list(take(procfile, procfile, 'The Procfile')));
  for (const { startCommand, file, forSites } of platforms) {
    if (startCommand !== null && !forSites) starts.push(...list(take(startCommand, startCommand, file)));
  }
  const replaced = row?.replaces?.(app, scripts.start ?? '') ?? false;
  if (scripts.start !== undefined && !replaced) {
    starts.push(...list(take(scripts.start, `${run.replace(/ run$/, '')} start`, 'The start script')));
  }
  const own = starts.length > 0;
  const output = app.nx?.output ?? null;
  if (output !== null && !own) starts.push({ command: `node ${output}/main.js`, needs: `${output}/main.js` });
  starts.push(...(row?.starts?.(app).filter(({ isPreview }) => !isPreview) ?? []));
  for (const name of ['start:prod', 'start:production', 'start:server', 'serve:prod', 'prod', 'production']) {
    const script = scripts[name];
    if (starts.length === 0 && script !== undefined)
      starts.push(...list(take(script, `${run} ${name}`, `The script ${name}`)));
  }
  // The pages are what a project without a server offers: neither an entry file nor a preview is better.
  const isPage = row?.publish !== undefined && (row.starts?.(app).length ?? 0) === 0 && !hasServer(app);
  if (!own && !isPage) starts.push(...entryOf(app, builds));
  if (starts.length === 0 && !isPage) starts.push(...developmentEntry(input, notes));
  starts.push(...(row?.starts?.(app).filter(({ isPreview }) => isPreview) ?? []));
  // A start that needs nothing is always used.
  const last = starts.findIndex(({ needs }) => needs === null);
  return last < 0 ? starts : starts.slice(0, last + 1);
}

function list(found: Start | null): Start[] {
  return found === null ? [] : [found];
}

/** Scripts of ejected Create React App and of generators of pages start their servers for developers. */
const PAGE_SERVERS = ['webpack-dev-server', 'browser-sync', 'live-server', 'react-dev-utils', 'gulp-connect'];
const PAGE_SCRIPT = /^(\.\/)?(scripts|build|tools|tasks)\/(start|serve|server|dev)(\.[cm]?js)?$/;

function accepted(use: CommandUse, shown: string, command: string, app: Application): Start | null {
  if (use.use === 'watched') return { command: use.command, needs: null };
  if (use.use !== 'production') return null;
  const file = /\bcd\b/.test(command) ? null : fileOf(command, app.manifest.scripts);
  if (file !== null && PAGE_SCRIPT.test(file) && dependsOn(app, ...PAGE_SERVERS) && !hasServer(app)) return null;
  return { command: shown, needs: file };
}

function refusal(from: string, use: CommandUse): string {
  if (use.use === 'preview')
    return `${from} runs a preview server (${use.tool}), which production uses only if there is nothing better`;
  const tool = use.use === 'development' ? ` (${use.tool})` : '';
  return `${from} runs a development server${tool}, which production does not run; set startCommand to run it all the same`;
}

/** `main`, or a file whose name says that it is the entry. */
function entryOf({ files, manifest }: Application, builds: boolean): Start[] {
  const { main } = manifest;
  const isPlain = main !== null && /^[\w./@+-]+$/.test(main);
  if (isPlain && (exists({ files }, main) || builds)) return [{ command: `node ${main}`, needs: main }];
  const entry = ENTRY_FILES.find((file) => files.has(file));
  return entry === undefined ? [] : [{ command: `node ${entry}`, needs: entry }];
}

/** Files that are started if nothing names another one. */
export const ENTRY_FILES = [
  ...['server.js', 'index.js', 'app.js', 'main.js', 'server.mjs', 'index.mjs', 'app.mjs', 'server.cjs', 'index.cjs'],
  ...['src/server.js', 'src/index.js', 'src/app.js', 'src/main.js', 'bin/www', 'server/index.js', 'server/server.js'],
];

/** The `dev` script without its watcher, if that leaves a plain command: many small servers have nothing else. */
function developmentEntry({ app, run }: NodeInput, notes: string[]): Start[] {
  for (const name of ['serve', 'server', 'dev']) {
    const script = app.manifest.scripts[name];
    if (script === undefined || (name === 'dev' && !hasServer(app))) continue;
    const use = commandUse(script, app.manifest.scripts, app.manifest.main);
    if (use.use === 'watched') {
      notes.push(`Nothing is named "start"; the script ${name} is run without its watcher (${use.tool})`);
      return [{ command: use.command, needs: null }];
    }
    if (use.use === 'production') {
      notes.push(`Nothing is named "start"; the script ${name} is run`);
      return [{ command: `${run} ${name}`, needs: fileOf(script, app.manifest.scripts) }];
    }
  }
  return [];
}

/** True if the project depends on a library that servers are built with. */
export function hasServer(app: Application): boolean {
  return Object.values(FRAMEWORKS).some(({ isLibrary, packages }) => isLibrary === true && dependsOn(app, ...packages));
}

/** The script that offers a preview, for projects that offer nothing else. */
export function previewScript({ manifest }: Application): string | null {
  return (
    ['preview', 'serve', 'start'].find((name) => {
      const script = manifest.scripts[name];
      return script !== undefined && commandUse(script, manifest.scripts).use === 'preview';
    }) ?? null
  );
}

const OUTPUT_OPTION =
  /(?:^|\s)(?:--out-?dir|--output(?:-path|-dir)?|--dist-dir|--destination|--dest)(?:=|\s+)([\w./@-]{1,200})/i;

function publishOf(app: Application, row: FrameworkRow | undefined, build: string | null): string[] {
  const script = /\brun (\S+)$/.exec(build ?? '')?.[1];
  const text = (script === undefined ? build : app.manifest.scripts[script]) ?? '';
  const named = OUTPUT_OPTION.exec(text.slice(0, 4096))?.[1];
  const nx = app.nx?.output ?? null;
  const ofNx = nx === null ? [] : [nx, `${nx}/browser`];
  return [...(named === undefined ? [] : [named]), ...ofNx, ...(row?.publish?.(app) ?? [])];
}

function exists({ files }: Pick<Application, 'files'>, path: string): boolean {
  const name = path.replace(/^\.\//, '').replace(/\/$/, '');
  return ['', '.js', '.cjs', '.mjs', '/index.js', '/index.cjs', '/index.mjs'].some((end) => files.has(name + end));
}
