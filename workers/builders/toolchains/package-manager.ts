import type { ProjectFiles } from '../project-files.js';
import { isText, type PackageJson } from './package-json.js';
import { program, type Tool } from './toolchain.js';

/** The program that installs a Node project's dependencies. */
export interface PackageManager {
  name: 'npm' | 'pnpm' | 'yarn';
  install: string;
  /** Variables that name a folder kept between builds → that folder's name. */
  caches: Record<string, string>;
}

/** The files that package managers read to install. */
const MANIFESTS = [
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
];
/** If the project has one of these, an installation reads other files of the project too. */
const FURTHER = ['.yarn', 'binding.gyp', 'patches', 'pnpm-workspace.yaml', '.pnpmfile.cjs'];
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

/** Decides which package manager installs a project, and how. In a workspace, the files are those of its root. */
export function packageManagerOf(files: ProjectFiles, manifest: PackageJson): PackageManager {
  const named = isText(manifest.raw.packageManager) ? manifest.raw.packageManager : '';
  const npm = { name: 'npm', caches: { npm_config_cache: 'npm' } } as const;
  const pnpm = { name: 'pnpm', caches: { npm_config_store_dir: 'pnpm' } } as const;
  const yarn = { name: 'yarn', caches: { YARN_CACHE_FOLDER: 'yarn' } } as const;
  if (files.has('package-lock.json') || files.has('npm-shrinkwrap.json')) return { ...npm, install: 'npm ci' };
  if (files.has('pnpm-lock.yaml')) return { ...pnpm, install: 'pnpm install --frozen-lockfile' };
  if (files.has('yarn.lock')) {
    const modern = files.has('.yarnrc.yml');
    return { ...yarn, install: modern ? 'yarn install --immutable' : 'yarn install --frozen-lockfile' };
  }
  if (named.startsWith('pnpm@')) return { ...pnpm, install: 'pnpm install' };
  if (named.startsWith('yarn@')) return { ...yarn, install: 'yarn install' };
  return { ...npm, install: 'npm install' };
}

/** The programs that a build with this package manager needs. */
export function managerTools(manager: PackageManager, manifest: PackageJson): Tool[] {
  if (manager.name === 'npm') return [program('npm', 'install npm')];
  const install = `npm install --global --prefix "$TOOLS" ${packageOf(manager, manifest)}`;
  return [program(manager.name, `install it with "npm install -g ${manager.name}"`, install)];
}

/** The package with the version that the project asks for, if it asks for one. */
function packageOf({ name }: PackageManager, { raw }: PackageJson): string {
  const version = /^(pnpm|yarn)@(\d+\.\d+\.\d+)/.exec(isText(raw.packageManager) ? raw.packageManager : '');
  if (version?.[1] !== name) return name;
  // Version 2 and later of yarn are another package.
  return name === 'yarn' && !version[2]?.startsWith('1.') ? `@yarnpkg/cli-dist@${version[2]}` : `${name}@${version[2]}`;
}

/** The files that alone decide what an installation does; null if it may need the whole project. */
export function installManifests(files: ProjectFiles, manifest: PackageJson): string[] | null {
  return installsAlone(files, manifest) ? MANIFESTS.filter(files.has) : null;
}

function installsAlone(files: ProjectFiles, { scripts, dependencies, hasWorkspaces }: PackageJson): boolean {
  if (hasWorkspaces || FURTHER.some(files.has)) return false;
  if (INSTALL_SCRIPTS.some((name) => scripts[name] !== undefined)) return false;
  return Object.values(dependencies).every(
    (version) => typeof version === 'string' && !/^(file|link|workspace|portal|patch):|^[.~]?\.?\//.test(version),
  );
}
