import type { ServiceConfiguration } from '../../../shared/services/configuration.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { PackageManifest } from '../files/package-manifest.js';
import { type Application, dependsOn, type FoundFramework, type Start } from './application.js';
import { chooseFramework, hasServer, onlyPages, rowOf } from './choose-framework.js';
import { developmentEntry, entriesOf, unbuiltEntries } from './entry-files.js';
import { servedFolder } from './file-servers.js';
import { type FrameworkRow, PAGES, startFile } from './framework-row.js';
import { missingPrograms } from './missing-programs.js';
import {
  buildOf,
  compilation,
  exists,
  FINAL_SCRIPTS,
  generatesClient,
  legacyOpenssl,
  missingEnvFiles,
} from './node-build.js';
import type { PlatformSettings } from './platform-files.js';
import { withoutDaemon } from './process-managers.js';
import { type CommandUse, commandUse, fileOf } from './start-scripts.js';

export interface NodeInput {
  app: Application;
  kind: ServiceKind;
  settings: Pick<ServiceConfiguration, 'buildCommand'>;
  platforms: readonly PlatformSettings[];
  /** The Procfile's command for this kind of service; null if there is none. */
  procfile: string | null;
  /** The command with which the package manager runs a script, such as `npm run`. */
  run: string;
  /** The dependencies of the workspace's root, which its packages may use; absent outside of a workspace. */
  shared?: PackageManifest['dependencies'];
  /** The range of Node.js versions that the project requires; null if it states none. */
  node: string | null;
}

export interface NodeDecision {
  framework: FoundFramework | null;
  prepare: string[];
  build: string | null;
  /** Ways to start, the best first; empty if the result is a static site. */
  starts: Start[];
  publish: string[];
  singlePage: boolean;
  environment: Record<string, string>;
  buildEnvironment: Record<string, string>;
  /** Lines for the build's log, for example which script is not used, and why. */
  notes: string[];
}

/** Decides how a project with a package.json is built. Uses only the setting `buildCommand`. */
export function decideNode(input: NodeInput): NodeDecision {
  const { app, settings, platforms, run } = input;
  const framework = chooseFramework(app);
  const known = { ...app, framework };
  const row = rowOf(framework);
  const notes: string[] = [];
  const explicit = settings.buildCommand.trim() !== '';
  const likely = buildOf(known, row, run);
  const starts = input.kind === 'static' ? [] : startsOf({ ...input, app: known }, row, likely !== null, notes);
  const isSite = starts.length === 0;
  // A server that can be started without a build may have a bundler among its packages; the bundler is not run.
  const [first] = starts;
  const startsAnyway = row?.starts === undefined || (first?.needs != null && exists(known, first.needs));
  const unused = !isSite && app.nx === null && startsAnyway && likely !== null && !likely.startsWith(`${run} `);
  const said = platforms.find(({ buildCommand, forSites }) => buildCommand !== null && (isSite || !forSites));
  if (said !== undefined && !explicit)
    notes.push(`The build command is from ${said.file}; set buildCommand to change it`);
  const build = explicit
    ? settings.buildCommand.trim()
    : (said?.buildCommand ?? (unused ? null : likely) ?? compilation(known, starts, run));
  const missing = missingEnvFiles(known);
  const generate = generatesClient(known) ? ['prisma generate'] : [];
  if (missing.length > 0)
    notes.push(
      `${missing.join(' and ')} is not in the repository: it is empty here, because the service has its own variables`,
    );
  const served = servedFolder(app.manifest.scripts.start ?? '', known);
  const siteOf = platforms.filter(({ publishDirectory }) => publishDirectory !== null);
  return {
    framework,
    prepare: [
      ...missing.map((file) => `touch ${file}`),
      ...missingPrograms(starts[0]?.command ?? '', app.manifest, { ...input.shared, ...app.manifest.dependencies }),
      ...generate,
    ],
    build,
    starts,
    publish: [
      ...siteOf.map(({ publishDirectory }) => publishDirectory ?? ''),
      ...(served === null ? [] : [served.folder]),
      ...publishOf(known, row, build),
    ],
    singlePage: [row?.singlePage?.(known), served?.singlePage, ...platforms.map((one) => one.singlePage)].includes(
      true,
    ),
    environment: row?.environment ?? {},
    buildEnvironment: { ...legacyOpenssl(known, input.node), ...row?.buildEnvironment?.(known) },
    notes,
  };
}

function startsOf(input: NodeInput, row: FrameworkRow | undefined, builds: boolean, notes: string[]): Start[] {
  const { app, procfile, platforms, run } = input;
  const { scripts } = app.manifest;
  const usual = row?.starts?.(app) ?? [];
  const starts: Start[] = [];
  const take = (command: string, shown: string, from: string): Start[] => {
    const foreground = withoutDaemon(command, app);
    if (foreground !== null) {
      notes.push(`${from} leaves the application in the background; production runs "${foreground}"`);
      return [{ command: foreground, needs: null }];
    }
    const served = servedFolder(command, app);
    if (served !== null) {
      notes.push(`${from} only serves files, with a program that is not among the packages: publishes them`);
      return [];
    }
    const use = commandUse(command, scripts, app.manifest.main);
    const found = accepted(use, shown, command, app);
    if (use.use === 'watched' && found !== null)
      notes.push(`${from} is for development (${use.tool}); production runs "${found.command}"`);
    if (found !== null) return [found];
    notes.push(refusal(from, use));
    return [];
  };
  if (procfile !== null) starts.push(...take(procfile, procfile, 'The Procfile'));
  for (const { startCommand, file, forSites } of platforms) {
    if (startCommand !== null && !forSites) starts.push(...take(startCommand, startCommand, file));
  }
  const replaced = row?.replaces?.(app, scripts.start ?? '') ?? false;
  if (scripts.start !== undefined && !replaced) {
    const installs = INSTALLS.test((scripts.prestart ?? '').trim());
    if (installs) notes.push('The script prestart installs packages, which the build has done: starts without it');
    const shown = installs ? scripts.start : `${run.replace(/ run$/, '')} start`;
    starts.push(...take(scripts.start, shown, 'The start script'));
  }
  const own = starts.length > 0;
  if (!own && servedFolder(scripts.start ?? '', app) !== null) return [];
  const buildsPages = onlyPages(app, row);
  // Without a server, the result is the pages: entry files and scripts that serve the pages are not started.
  const isPage = buildsPages && !hasServer(app);
  const noProgram = app.nx === null || own || (isPage && PAGES.some(app.files.has));
  const programs = noProgram ? [] : [`${app.nx?.output ?? 'dist'}/main.js`, 'dist/main.js'];
  starts.push(...programs.map(startFile));
  starts.push(...usual.filter(({ isPreview }) => !isPreview));
  const names = ['start:prod', 'start:production', 'start:server', 'serve:prod', ...FINAL_SCRIPTS];
  for (const name of names) {
    const script = scripts[name];
    // Skips a script that only serves the built pages, because the platform publishes the pages itself.
    if (isPage && (script === undefined || fileOf(script, scripts) === null)) continue;
    if (starts.length === 0 && script !== undefined)
      starts.push(...take(script, `${run} ${name}`, `The script ${name}`));
  }
  const isForeign = row?.isForeign === true && usual.length > 0;
  const isLoose = row?.starts === undefined && app.nx === null;
  if (!own && !isPage && !isForeign)
    starts.push(...entriesOf(app, { builds, compiles: builds && isLoose, buildsPages, run }));
  // If every start needs a file that does not exist yet, perhaps the build writes none of these files. The scripts
  // `serve`, `server` and `dev` are then tried too.
  const isExpected = !own && isLoose && !starts.some(({ needs }) => needs === null || exists(app, needs));
  if ((starts.length === 0 || isExpected) && !isPage && !isForeign)
    starts.push(...developmentEntry(app, run, starts.length === 0 ? notes : []));
  if (starts.length === 0 && hasServer(app)) starts.push(...unbuiltEntries(app));
  starts.push(...usual.filter(({ isPreview }) => isPreview));
  // A way to start that needs no file can always be used, so the ways after it would never be used.
  const last = starts.findIndex(({ needs }) => needs === null);
  return last < 0 ? starts : starts.slice(0, last + 1);
}

/** A `prestart` script that only installs packages needs the network, and takes longer than a start may. */
const INSTALLS = /^(npm (i|install|ci)|yarn( install)?|pnpm (i|install)|bower install)$/;

/** With one of these packages, a start script such as `scripts/start.js` probably starts a development server. */
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

/** Returns the name of the script that runs a preview server; null if there is none. */
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
