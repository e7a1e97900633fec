import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { isRecord, isText, recordIn, recordOf } from '../files/json-values.js';
import { resolveInside, wholeInside } from '../files/project-files.js';
import type { BuildPlan } from '../plan/plan-model.js';

/** npm's lock files. npm uses the first one that exists. */
const LOCKS = ['npm-shrinkwrap.json', 'package-lock.json'];
const FOLDER = 'node_modules/';
/** The file in which `npm ci` records the packages that it installed. */
const INSTALLED = 'node_modules/.package-lock.json';
/**
 * Scripts of package.json that npm runs during an installation. A project with such a script is always installed anew.
 * Other scripts of an installation need no check here, because they make `manifests` null.
 */
const SCRIPTS = ['dependencies', 'preprepare', 'postprepare'];

type Packages = Readonly<Record<string, unknown>>;

/** Returns a digest of the files that determine an installation; null if anything else affects it too. */
export async function lockedInstall(
  app: string,
  { install, manifests, dependencies, folders }: Pick<BuildPlan, 'install' | 'manifests' | 'dependencies' | 'folders'>,
): Promise<string | null> {
  if (manifests === null || manifests.length === 0 || dependencies === null) return null;
  const isNode = dependencies === 'node_modules';
  if (isNode && install.join() !== 'npm ci') return null;
  const hash = createHash('sha256').update(JSON.stringify(install));
  const texts = new Map<string, string>();
  for (const name of [...manifests].sort()) {
    const text = await wholeInside(app, posix.join(folders.install, name));
    if (text === undefined) return null;
    texts.set(name, text);
    hash.update(JSON.stringify([name, text]));
  }
  if (!isNode) return hash.digest('hex');
  const lock = LOCKS.map((name) => texts.get(name)).find((text) => text !== undefined);
  if (runsScripts(recordIn(texts.get('package.json')))) return null;
  return isExact(packagesOf(lock)) ? hash.digest('hex') : null;
}

function runsScripts(project: Record<string, unknown> | null): boolean {
  const scripts = recordOf(project?.scripts);
  return SCRIPTS.some((name) => scripts[name] !== undefined);
}

/** Returns true if an installation would add nothing and run no script. `npm` needs half a second to find that out. */
export async function hasNothingToInstall(
  app: string,
  { install, manifests, folders }: Pick<BuildPlan, 'install' | 'manifests' | 'folders'>,
): Promise<boolean> {
  // If `manifests` is null, the installation may depend on any file of the project.
  if (!/^npm (ci|install)$/.test(install.join()) || manifests === null) return false;
  const read = (name: string) => wholeInside(app, posix.join(folders.install, name));
  const project = recordIn(await read('package.json'));
  const fields = [...DEPENDENCY_FIELDS, 'workspaces'];
  if (project === null || fields.some((name) => !isEmpty(project[name])) || runsScripts(project)) return false;
  for (const name of LOCKS.filter((lock) => manifests.includes(lock))) {
    const lock = recordIn(await read(name));
    if (lock === null || !isEmpty(lock.dependencies) || !namesOnlyItself(lock.packages)) return false;
  }
  return true;
}

function namesOnlyItself(packages: unknown): boolean {
  return packages === undefined || (isRecord(packages) && Object.keys(packages).every((path) => path === ''));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
}

interface InstallationInput {
  /** Real path of the folder with the repository's files. */
  app: string;
  /** The folder in which the install command runs, relative to `app`. */
  folder: string;
  /** The folder with the installed packages, relative to `folder`. */
  dependencies: string;
}

/** Returns true if all needed packages are installed. `npm ci` also succeeds if an optional package fails. */
export async function isInstalled({ app, folder, dependencies }: InstallationInput): Promise<boolean> {
  if (dependencies !== 'node_modules') return isFolder(app, posix.join(folder, dependencies));
  const read = (name: string) => wholeInside(app, posix.join(folder, name));
  const found = packagesOf(await read(INSTALLED));
  const wanted = packagesOf((await read(LOCKS[0] ?? '')) ?? (await read(LOCKS[1] ?? '')));
  if (found === null || wanted === null) return false;
  const needed = neededBy(
    Object.entries(wanted).flatMap(([path, entry]) => (path === '' || path in found ? [entry] : [])),
  );
  return Object.entries(wanted).every(
    ([path, entry]) => path === '' || path in found || isForOthers(entry) || isUnneeded(path, entry, needed),
  );
}

async function isFolder(app: string, path: string): Promise<boolean> {
  const found = await resolveInside(app, path);
  return found === join(app, path) && (await lstat(found)).isDirectory();
}

const DEPENDENCY_FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

function neededBy(entries: readonly unknown[]): ReadonlySet<string> {
  const groups = entries.filter(isRecord).flatMap((entry) => DEPENDENCY_FIELDS.map((kind) => entry[kind]));
  return new Set(groups.filter(isRecord).flatMap(Object.keys));
}

function isUnneeded(path: string, entry: unknown, needed: ReadonlySet<string>): boolean {
  const name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
  return isRecord(entry) && entry.optional === true && !needed.has(name);
}

/** Returns true if each package that this host installs has a checksum and runs no script. */
export function isExact(packages: Packages | null): boolean {
  if (packages === null) return false;
  return Object.entries(packages).every(([path, entry]) => {
    if (path === '') return true;
    if (!path.startsWith('node_modules/') || !isRecord(entry)) return false;
    // npm skips optional packages for other platforms, so their scripts do not matter.
    if (entry.optional === true && isForOthers({ os: entry.os, cpu: entry.cpu })) return true;
    if (entry.link !== undefined || entry.hasInstallScript !== undefined) return false;
    return entry.inBundle === true || (isText(entry.integrity) && /^sha(256|384|512)-/.test(entry.integrity));
  });
}

/** Returns true for a package that declares that it is not for this platform. */
export function isForOthers(
  entry: unknown,
  { os, cpu }: { os: string; cpu: string } = { os: process.platform, cpu: process.arch },
): boolean {
  if (!isRecord(entry)) return false;
  return excludes(entry.os, os) || excludes(entry.cpu, cpu) || excludes(entry.libc, 'glibc');
}

function excludes(list: unknown, name: string): boolean {
  const names = (Array.isArray(list) ? list : [list]).filter(isText);
  const allowed = names.filter((text) => !text.startsWith('!'));
  return names.includes(`!${name}`) || (allowed.length > 0 && !allowed.includes(name) && !allowed.includes('any'));
}

/** Returns the packages of npm's lock file; null if it has no such list, as in lock files of npm 6. */
function packagesOf(text: string | undefined): Packages | null {
  const packages = recordIn(text)?.packages;
  return isRecord(packages) ? packages : null;
}
