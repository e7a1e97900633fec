import type { ServiceKind } from '../../../shared/services/model.js';
import type { Application } from './application.js';
import { chooseFramework, hasServer, onlyPages, rowOf } from './choose-framework.js';
import type { DetectedProject, ProjectReader } from './detected-project.js';
import { ENTRY_FILES } from './entry-files.js';
import { type FrameworkRow, PAGES } from './framework-row.js';
import { exists } from './node-build.js';
import { programsOf } from './script-words.js';
import { commandUse, fileOf } from './start-scripts.js';
import type { Workspace } from './workspace.js';

/** A folder that can be deployed. */
export interface FoundApplication {
  rootDirectory: string;
  name: string | null;
  framework: string | null;
  /** `files` if the application generates pages and needs no server, `pages` if a server renders them; else null. */
  makes: 'files' | 'pages' | null;
}

/** Maximum number of folders that are searched. `DEEPEST` is the maximum depth of folders that no workspace lists. */
const MAX_FOLDERS = 100;
const DEEPEST = 3;
/** Folders of demonstrations, tests, documentation and tools. They are used only if there are no other applications. */
const SECONDARY =
  /(^|\/)(e2e|tests?|__tests__|spec|fixtures?|__fixtures__|examples?|samples?|demos?|playgrounds?|sandbox|templates?|bench(marks?)?|storybook|docs?|website|scripts|tools|configs?|[^/]+-(e2e|templates?|examples?))(\/|$)/;

/** Storybook shows the components of a library. It is deployed only if no other application is found. */
const STORYBOOK = 'Storybook';

/** Finds the applications in the subfolders of a repository. The root folder itself is not considered. */
export async function findApplications(
  reader: ProjectReader,
  workspace: Workspace | null,
): Promise<FoundApplication[]> {
  const members = workspace === null ? null : workspace.packages.map(({ folder }) => folder);
  const others = () =>
    reader.tree.foldersWith('package.json').filter((folder) => folder !== '' && folder.split('/').length <= DEEPEST);
  const found: FoundApplication[] = [];
  for (const folder of (members ?? others()).slice(0, MAX_FOLDERS)) {
    const app = await reader.application(folder, await reader.files(folder), workspace);
    if (app === null || !isApplication(app)) continue;
    const framework = chooseFramework(app)?.name ?? null;
    found.push({ rootDirectory: folder, name: app.manifest.name, framework, makes: makesOf(app) });
  }
  const primary = found.filter((one) => !SECONDARY.test(one.rootDirectory) && one.framework !== STORYBOOK);
  return primary.length > 0 ? primary : found;
}

function makesOf(app: Application): FoundApplication['makes'] {
  const framework = chooseFramework(app);
  const row = rowOf(framework);
  // Nitro always builds a server, whatever other files it writes.
  if (row?.publish === undefined || framework?.id === 'nitro') return PAGES.some(app.files.has) ? 'pages' : null;
  return onlyPages(app, row) && !hasServer(app) ? 'files' : 'pages';
}

/** Configuration files that applications have and libraries do not. With Nx, often no script names the framework. */
const CONFIGURATION = /^(next|nuxt|astro|svelte|react-router|docusaurus|gatsby)[.-]config\.[cm]?[jt]s$/;

/** Libraries depend on these frameworks too, so a package also needs a page or a server to be an application. */
const OF_LIBRARIES = 'vite webpack rollup rsbuild parcel solid-js tanstack-router rspack farm svelte'.split(' ');

/** Returns true if a package is more than a library: it builds pages, or starts a server. */
export function isApplication(app: Application): boolean {
  const { files, manifest } = app;
  const framework = chooseFramework(app);
  const row = rowOf(framework);
  const { start } = manifest.scripts;
  if (app.nx !== null) return true;
  if (row !== undefined && row.isLibrary !== true) {
    if (OF_LIBRARIES.includes(framework?.id ?? '')) return PAGES.some(files.has) || startsServer(app);
    // A framework without output to deploy: only a server of its own makes the package an application.
    if (row.publish === undefined && row.starts?.(app).length === 0) return startsServer(app);
    const tool = builderOf(row);
    const calls = Object.values(manifest.scripts).some((script) => script.split(/\s+/).some((word) => word === tool));
    return tool === '' || calls || start !== undefined || files.names().some((name) => CONFIGURATION.test(name));
  }
  return startsServer(app);
}

/** Returns the first word of a framework's build command. Returns '' if the command is unknown or varies. */
function builderOf(row: FrameworkRow | undefined): string {
  return (typeof row?.build === 'string' ? row.build : '').split(' ')[0] ?? '';
}

function startsServer(app: Application): boolean {
  const { start } = app.manifest.scripts;
  if (!hasServer(app)) {
    const file = start === undefined ? null : fileOf(start, app.manifest.scripts);
    return start !== undefined && (app.files.has('Procfile') || (file !== null && exists(app, file)));
  }
  const { dev } = app.manifest.scripts;
  const isWatched = dev !== undefined && commandUse(dev, app.manifest.scripts, app.manifest.main).use === 'watched';
  const says = start !== undefined || isWatched || app.manifest.main !== null || app.files.has('Procfile');
  // Libraries have an index.js too, so a file of that name does not show that a package is an application.
  return says || ENTRY_FILES.some((file) => /server|app|www/.test(file) && app.files.has(file));
}

/** Frameworks whose applications contain at least one of the files and folders in `SOURCES`. */
const PLACED = 'next nuxt angular astro vite gatsby remix vue svelte-kit create-react-app expo'.split(' ');
const SOURCES = ['src', 'app', 'pages', 'index.html', 'public', 'static', 'content', 'app.vue', 'app.json'];

/** Returns false for a folder that depends on a framework only to install packages for its subfolders. */
export function hasSources(app: Application): boolean {
  const framework = chooseFramework(app);
  // An Nx root installs the packages of all its applications, so a framework does not make it an application.
  if (framework === null || !(PLACED.includes(framework.id) || app.files.has('nx.json'))) return true;
  return SOURCES.some(app.files.has) || app.files.names().some((name) => CONFIGURATION.test(name));
}

/** Matches commands that run scripts of a workspace's packages. */
const DELEGATES =
  /\b(turbo|lerna|nx|workspaces?|workspace|foreach|concurrently|run-p|npm-run-all)\b|\s(--filter|-F|-w|-r|--recursive|--prefix|--cwd)\b/;

/** Returns true if a workspace's root is an application itself and does not only contain packages. */
export function isOwnApplication({ app, files, platforms }: DetectedProject, kind: ServiceKind): boolean {
  if (app === null) return false;
  if (app.nx !== null) return true;
  if (files.has('Procfile') && kind !== 'static') return true;
  if (platforms.some(({ startCommand, forSites }) => startCommand !== null && !forSites)) return true;
  const { start } = app.manifest.scripts;
  if (start !== undefined && !DELEGATES.test(start.slice(0, 4096)) && /\S/.test(start)) {
    if (fileOf(start, app.manifest.scripts) !== null) return true;
    if (commandUse(start, app.manifest.scripts).use === 'production' && hasServer(app)) return true;
  }
  const framework = chooseFramework(app);
  if (framework === null || framework.name === STORYBOOK) return false;
  return isApplication(app) && !hasServer(app) && hasSources(app) && !handsOver(app);
}

/** Returns true if the root's build script builds the packages. The root is then no application of its framework. */
function handsOver(app: Application): boolean {
  const build = (app.manifest.scripts.build ?? '').slice(0, 4096);
  return DELEGATES.test(build) && !programsOf(build).includes(builderOf(rowOf(chooseFramework(app))));
}
