import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { SiteRules } from '../../../shared/rules/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { Start } from '../detection/application.js';
import {
  contents,
  type EntryKind,
  folderInside,
  kindInside,
  OUTSIDE,
  resolveInside,
  wholeInside,
} from '../files/project-files.js';
import type { PublishPlan } from '../plan/plan-model.js';
import { baseOfPage } from './site-base.js';
import { readSiteRules } from './site-rules.js';

interface SettleInput {
  /** Real paths of the repository's files and of the project. */
  app: string;
  project: string;
  starts: readonly Start[];
  publish: PublishPlan | null;
  publishDirectory: string;
  /** True if `publishDirectory` has its default value. */
  isDefault: boolean;
  /** True if build commands have run. */
  built: boolean;
}

/** The result of a build: an application to start, or a site to publish. */
export type Settled =
  | { type: 'process'; startCommand: string; notes: string[] }
  | {
      type: 'static';
      /** The real path of the folder to publish. */
      folder: string;
      /** The page that is served for unknown paths, relative to `folder`; '' if there is none. */
      fallback: string;
      /** The base path under which the pages expect the site (`/shop`); '' for the root. */
      base: string;
      rules: SiteRules | null;
      notes: string[];
    };

/**
 * Decides whether a build's output is started or published. It is published if the project has no start command, or if
 * the files of all start commands are missing and an index page exists. Throws `BuildError`.
 */
export async function settleResult(input: SettleInput): Promise<Settled> {
  const { starts, publish } = input;
  for (const [at, start] of starts.entries()) {
    if (start.needs !== null && !(await hasProgram(input, start.needs))) continue;
    return {
      type: 'process',
      startCommand: start.command,
      notes: at === 0 ? previewNotes(start) : changed(starts, start),
    };
  }
  const [first] = starts;
  const page = publish === null ? null : await findPage({ ...input, publish });
  if (first !== undefined && page === null) {
    const missing = `"${first.command}" needs ${first.needs}, which is not there after the build`;
    return { type: 'process', startCommand: first.command, notes: [`${missing}; set buildCommand or startCommand`] };
  }
  if (publish === null) throw new Error('a plan without a start publishes files');
  const site = await publishedSite({ ...input, publish }, page);
  const notes = first === undefined ? [] : [`The build has written files and no server: publishes them as a site`];
  return { ...site, notes: [...notes, ...site.notes] };
}

function changed([first]: readonly Start[], start: Start): string[] {
  if (start.isPreview) return previewNotes(start);
  return [
    `Starts "${start.command}", because ${first?.needs} is not there after the build; set startCommand to change it`,
  ];
}

function previewNotes(start: Start): string[] {
  if (!start.isPreview) return [];
  return [
    `The project offers only a preview server, which is used: "${start.command}"; add an adapter for Node, or set startCommand`,
  ];
}

type SiteInput = SettleInput & { publish: PublishPlan };

async function publishedSite(input: SiteInput, page: string | null): Promise<Settled> {
  const { app, project, publishDirectory, isDefault, publish, built } = input;
  const chosen = isDefault ? (page ?? (await anyFolder(input))) : publishDirectory;
  // Throws if publishDirectory leads out of the project. The error does not reveal whether its target exists.
  const leadsOut = (await resolveInside(project, publishDirectory)) === OUTSIDE;
  if (leadsOut && (chosen === null || !isDefault)) await folderInside(project, publishDirectory, 'publishDirectory');
  if (chosen === null) throw await nothingToPublish(input);
  if (!isDefault && (await kindAt(input, chosen)) === undefined) throw await nothingToPublish(input);
  const folder = await folderInside(app, join(project.slice(app.length + 1), chosen), 'publishDirectory');
  if ((await readdir(folder)).length === 0) {
    throw new BuildError(`publishDirectory "${chosen}" is empty; check that the build writes its files there`);
  }
  const notes =
    isDefault && chosen !== publishDirectory
      ? [`Publishes ${chosen === '.' ? "the project's folder" : chosen}; set publishDirectory to change it`]
      : [];
  const base = built ? await baseOf(folder) : '';
  if (base !== '')
    notes.push(
      `The pages expect to be at ${base}/: the site answers there, and / leads there; build for the path / to change it`,
    );
  const { rules, notes: ignored } = await readSiteRules(folder);
  const fallback = await fallbackOf(folder, publish.singlePage);
  return { type: 'static', folder, fallback, base, rules, notes: [...notes, ...ignored] };
}

async function nothingToPublish({
  project,
  publishDirectory,
  isDefault,
  built,
  publish,
}: SiteInput): Promise<BuildError> {
  const when = built ? ' after the build' : '';
  const tried = isDefault ? publish.folders.filter((path) => path !== publishDirectory).slice(0, 5) : [];
  const others = tried.length > 0 ? `, nor does ${tried.map((path) => `"${path}"`).join(' or ')}` : '';
  return new BuildError(
    `publishDirectory "${publishDirectory}" does not exist${when}${others}; ${await contents(project)}`,
  );
}

/** Folders that usually contain the files of a site without a build. */
const USUAL = ['public', 'dist', 'build', 'docs', 'site', 'www', 'web', 'html', 'static', 'src', 'app', '_site', 'out'];

async function findPage({
  app,
  project,
  publish,
  publishDirectory,
  isDefault,
  built,
}: SiteInput): Promise<string | null> {
  if (!isDefault) return null;
  const wanted = [...publish.folders, publishDirectory];
  for (const folder of wanted) {
    const placed = folder.split('<')[0] ?? '';
    if (await hasPage({ app, project }, placed)) return placed;
  }
  if (built) return newPage(project, publish.pages);
  const { pages } = publish;
  if (pages.includes('.')) return '.';
  return USUAL.find((folder) => pages.includes(folder)) ?? pages.find((page) => page.split('/').length <= 2) ?? null;
}

/** Returns the best folder to publish if no folder has an index page; null if no folder is suitable. */
async function anyFolder({ app, project, publish, publishDirectory, built }: SiteInput): Promise<string | null> {
  for (const folder of [...publish.folders, publishDirectory]) {
    if ((await kindAt({ app, project }, folder)) === 'directory') return folder;
  }
  if (publish.pages.length > 0 && built) return publish.pages.includes('.') ? '.' : (publish.pages[0] ?? null);
  if (built) return null;
  return (await readdir(project)).some((name) => name.endsWith('.html')) ? '.' : null;
}

async function hasPage(place: Place, folder: string): Promise<boolean> {
  for (const page of ['index.html', '200.html']) {
    if ((await kindAt(place, posix.join(folder, page))) === 'file') return true;
  }
  return false;
}

const DEEPEST = 4;
const MAX_FOLDERS = 2000;

async function newPage(project: string, before: readonly string[]): Promise<string | null> {
  let level = ['.'];
  let seen = 0;
  for (let depth = 0; depth <= DEEPEST; depth++) {
    const next: string[] = [];
    for (const folder of level) {
      seen += 1;
      if (seen > MAX_FOLDERS) return null;
      const entries = await entriesOf(join(project, folder));
      const isNew = !before.includes(folder);
      if (isNew && entries.some((entry) => entry.isFile() && entry.name === 'index.html')) return folder;
      const below = entries.filter(
        (entry) => entry.isDirectory() && !/^(node_modules|\.git|\.cache|coverage)$/.test(entry.name),
      );
      next.push(...below.map((entry) => posix.join(folder, entry.name)).sort());
    }
    level = next;
  }
  return null;
}

/** Returns no entries if the path is too long or not UTF-8. Storing the image fails later with a clear error. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENAMETOOLONG') return [];
    throw error;
  });
}

const MAX_RULES_BYTES = 256 * 1024;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

async function baseOf(folder: string): Promise<string> {
  const page = (await wholeInside(folder, 'index.html', MAX_PAGE_BYTES)) ?? '';
  return baseOfPage(page, async (file) => (await kindInside(folder, file)) === 'file');
}

/**
 * Returns the page that is served for unknown paths with status 200. Returns '' if there is none, for example because
 * the site has a 404.html.
 */
async function fallbackOf(folder: string, singlePage: boolean): Promise<string> {
  const has = async (name: string) => (await kindInside(folder, name)) === 'file';
  for (const name of ['200.html', '__spa-fallback.html']) if (await has(name)) return name;
  if (await has('404.html')) return '';
  const hasIndex = await has('index.html');
  if ((singlePage || (await redirectsAll(folder))) && hasIndex) return 'index.html';
  // A site's only page counts as its index, whatever its name is.
  const pages = hasIndex ? [] : (await readdir(folder)).filter((name) => name.endsWith('.html'));
  return pages.length === 1 ? (pages[0] ?? '') : '';
}

/** Returns true if `_redirects` has a line such as `/* /index.html 200`, for single-page applications. */
async function redirectsAll(folder: string): Promise<boolean> {
  const text = (await wholeInside(folder, '_redirects', MAX_RULES_BYTES)) ?? '';
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  return lines.some(([from, to, status]) => from === '/*' && to === '/index.html' && status === '200');
}

/** Returns true if the program exists. The path may lack the file's extension, or name the program's folder. */
async function hasProgram(place: Place, path: string): Promise<boolean> {
  if ((await kindAt(place, path)) !== undefined) return true;
  for (const end of ['.js', '.cjs', '.mjs']) if ((await kindAt(place, path + end)) === 'file') return true;
  return false;
}

type Place = Pick<SettleInput, 'app' | 'project'>;

/** `path` may lead to another folder of the repository, because Nx builds below the workspace's root. */
function kindAt({ app, project }: Place, path: string): Promise<EntryKind | undefined> {
  return kindInside(app, posix.join(project.slice(app.length + 1), path));
}
