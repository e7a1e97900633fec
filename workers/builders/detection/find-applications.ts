import type { ServiceKind } from '../../../shared/services/model.js';
import type { Application } from './application.js';
import type { DetectedProject, ProjectReader } from './detected-project.js';
import { FRAMEWORKS } from './frameworks.js';
import { chooseFramework, hasServer } from './node-application.js';
import { commandUse, fileOf } from './start-scripts.js';
import type { Workspace } from './workspace.js';

/** A folder that can be deployed. */
export interface FoundApplication {
  rootDirectory: string;
  name: string | null;
  /** The framework's name; null if none is known. */
  framework: string | null;
}

/** Folders that are looked at, and how deep they may be if no workspace names them. */
const MOST_FOLDERS = 100;
const DEEPEST = 3;
/** Folders that show or test a project. They count only if there is nothing else. */
const SECONDARY =
  /(^|\/)(e2e|tests?|__tests__|spec|fixtures?|__fixtures__|examples?|samples?|demos?|playgrounds?|sandbox|templates?|bench(marks?)?|storybook|docs?|website|scripts|tools|configs?|[^/]+-e2e)(\/|$)/;

/** The applications below the repository's own folder. */
export async function findApplications(
  reader: ProjectReader,
  workspace: Workspace | null,
): Promise<FoundApplication[]> {
  const members = workspace === null ? null : workspace.packages.map(({ folder }) => folder);
  const others = () =>
    reader.tree.foldersWith('package.json').filter((folder) => folder !== '' && folder.split('/').length <= DEEPEST);
  const found: FoundApplication[] = [];
  for (const folder of (members ?? others()).slice(0, MOST_FOLDERS)) {
    const app = await reader.application(folder, await reader.files(folder), workspace);
    if (app === null || !isApplication(app)) continue;
    const { name, framework } = { name: app.manifest.name, framework: chooseFramework(app)?.name ?? null };
    found.push({ rootDirectory: folder, name, framework });
  }
  const primary = found.filter(({ rootDirectory }) => !SECONDARY.test(rootDirectory));
  return primary.length > 0 ? primary : found;
}

/** True if a package is more than a library: it builds pages, or starts a server. */
export function isApplication(app: Application): boolean {
  const { files, manifest } = app;
  const framework = chooseFramework(app);
  const row = framework === null ? undefined : FRAMEWORKS[framework.id];
  const { start } = manifest.scripts;
  if (app.nx !== null) return true;
  if (row !== undefined && row.isLibrary !== true) {
    // Libraries name the framework that they are for, but nothing calls it, and they have no page.
    if (
      ['vite', 'webpack', 'rsbuild', 'parcel', 'solid-js', 'tanstack-router', 'rspack', 'farm', 'svelte'].includes(
        framework?.id ?? '',
      )
    ) {
      return ['index.html', 'public/index.html', 'src/index.html'].some(files.has) || startsServer(app);
    }
    const tool = (typeof row.build === 'string' ? row.build : '').split(' ')[0] ?? '';
    const calls = Object.values(manifest.scripts).some((script) => script.split(/\s+/).some((word) => word === tool));
    return tool === '' || calls || start !== undefined;
  }
  return startsServer(app);
}

function startsServer(app: Application): boolean {
  const { start } = app.manifest.scripts;
  if (!hasServer(app)) return start !== undefined && app.files.has('Procfile');
  return start !== undefined || app.manifest.main !== null || app.files.has('Procfile');
}

/** Commands that hand over to packages of a workspace. */
const DELEGATES =
  /\b(turbo|lerna|nx|workspaces?|workspace|foreach|concurrently|run-p|npm-run-all)\b|\s(--filter|-F|-w|-r|--recursive|--prefix|--cwd)\b/;

/** True if a workspace's root is an application itself, and not only the place of its packages. */
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
  return isApplication(app) && chooseFramework(app) !== null && !hasServer(app);
}

/** The application that the root's start script hands over to: `yarn workspace web start`; null if it names none. */
export function namedByRoot(
  { app }: DetectedProject,
  applications: readonly FoundApplication[],
): FoundApplication | null {
  const start = (app?.manifest.scripts.start ?? '').slice(0, 4096);
  const words = new Set(start.split(/[\s"'=]+/).map((word) => word.replace(/^\.\//, '').replace(/\.{3}$/, '')));
  const named = applications.filter(
    ({ rootDirectory, name }) => words.has(rootDirectory) || (name !== null && words.has(name)),
  );
  return named.length === 1 ? (named[0] ?? null) : null;
}
