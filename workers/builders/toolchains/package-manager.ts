import { installedPackages, type PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import type { LanguagePlan } from '../languages/language.js';
import { lockOf, managerName, managerWish, yarnPath, yarnSettings } from './manager-version.js';
import { program, type Tool } from './required-tool.js';
import { intersection, type ManagerName, type VersionWish } from './version-wish.js';

export interface PackageManager extends Pick<LanguagePlan, 'environment' | 'buildEnvironment' | 'caches'> {
  name: ManagerName;
  /** The version that the project names or needs; null if any will do. */
  wish: VersionWish | null;
  install: string;
}

/** Files that package managers read during an installation. */
const MANIFESTS = [
  ...['package.json', 'package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock'],
  ...['bun.lock', 'bun.lockb', 'bunfig.toml', '.npmrc', '.yarnrc', '.yarnrc.yml'],
];
/** If a project has one of these, its installation may read any of its files, and not only those in `MANIFESTS`. */
const FURTHER = ['.yarn', 'binding.gyp', 'patches', 'pnpm-workspace.yaml', '.pnpmfile.cjs', '.pnp.cjs'];
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

/** Keeps Corepack from replacing the versions that the platform installed. */
const COREPACK = {
  COREPACK_ENABLE_AUTO_PIN: '0',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  COREPACK_ENABLE_PROJECT_SPEC: '0',
  COREPACK_ENABLE_STRICT: '0',
};

/** Decides how a project is installed. In a workspace, `files` are those of its root. Throws `BuildError`. */
export function packageManagerOf(files: ProjectFiles, manifest: PackageManifest): PackageManager {
  const name = managerName(files, manifest);
  const wish = managerWish(files, manifest, name);
  const locked = lockOf(files, name) !== null;
  const manager = { name, wish };
  switch (name) {
    case 'npm':
      return { ...manager, ...NOTHING_SPECIAL, install: locked ? 'npm ci' : 'npm install', caches: NPM_CACHES };
    case 'pnpm':
      return {
        ...manager,
        wish: wish ?? { range: '9.x', source: 'pnpm' },
        install: locked ? 'pnpm install --frozen-lockfile' : 'pnpm install --no-frozen-lockfile',
        environment: { ...COREPACK, ...PNPM },
        buildEnvironment: {},
        // pnpm 11 reads variables with another prefix, so both are set.
        caches: { npm_config_store_dir: 'pnpm', pnpm_config_store_dir: 'pnpm', ...NPM_CACHES },
      };
    case 'yarn':
      return yarn(files, wish ?? { range: '1.x', source: 'yarn' }, locked);
    case 'bun':
      return {
        ...manager,
        wish: wish ?? { range: '1.x', source: 'bun' },
        ...NOTHING_SPECIAL,
        install: locked ? 'bun install --frozen-lockfile' : 'bun install',
        caches: { BUN_INSTALL_CACHE_DIR: 'bun', ...NPM_CACHES },
      };
  }
}

const NOTHING_SPECIAL = { environment: {}, buildEnvironment: {} };
const NPM_CACHES = { npm_config_cache: 'npm' };
/** Keeps pnpm from replacing itself with another version, and from installing again when the application starts. */
const PNPM = Object.fromEntries(
  [
    ['manage_package_manager_versions', 'false'],
    ['package_manager_strict', 'false'],
    ['pm_on_fail', 'ignore'],
    ['verify_deps_before_run', 'false'],
    ['update_notifier', 'false'],
  ].flatMap(([name, value]) => [
    [`npm_config_${name}`, value],
    [`pnpm_config_${name}`, value],
  ]),
) as Record<string, string>;

/** Returns true if the wanted version is yarn 2 or later, which is another package with other settings. */
function isModernYarn({ range }: VersionWish): boolean {
  return intersection(range, '1.x') === null;
}

function yarn(files: ProjectFiles, wish: VersionWish, locked: boolean): PackageManager {
  const release = yarnPath(files);
  // Yarn would run a release in the repository in place of the installed version, so the release is ignored. A release
  // of unknown version is used, because the platform cannot install the same version.
  const environment = { ...COREPACK, ...(release?.version === null ? {} : { YARN_IGNORE_PATH: '1' }) };
  if (!isModernYarn(wish) && release?.version !== null) {
    return {
      name: 'yarn',
      wish,
      // Packages list the Node.js versions that they were tested with; yarn 1 would refuse all others.
      install: `yarn install${locked ? ' --frozen-lockfile' : ''} --ignore-engines`,
      environment,
      buildEnvironment: {},
      caches: { YARN_CACHE_FOLDER: 'yarn', ...NPM_CACHES },
    };
  }
  // With yarn's zero-installs, the repository contains the dependencies, and yarn's own resolver finds them there.
  const inRepository = files.has('.pnp.cjs') || files.has('.pnp.js');
  const plugnplay = inRepository || yarnSettings(files).nodeLinker === 'pnp';
  return {
    name: 'yarn',
    wish,
    install: locked ? 'yarn install --immutable' : 'yarn install --no-immutable',
    environment: {
      ...environment,
      YARN_ENABLE_TELEMETRY: '0',
      ...(yarnSettings(files).nodeLinker === undefined && !inRepository ? { YARN_NODE_LINKER: 'node-modules' } : {}),
      // Plug'n'Play reads packages from archives, and the running application has no access to the caches of builds.
      ...(plugnplay ? { YARN_ENABLE_GLOBAL_CACHE: 'false' } : {}),
    },
    buildEnvironment: plugnplay ? {} : { YARN_ENABLE_GLOBAL_CACHE: 'true' },
    caches: { ...(plugnplay ? {} : { YARN_GLOBAL_FOLDER: 'yarn-berry' }), ...NPM_CACHES },
  };
}

/** Returns the programs that a build needs on the host. The platform itself installs pnpm, yarn and bun. */
export function managerTools({ name }: Pick<PackageManager, 'name'>): Tool[] {
  return name === 'npm' ? [program('npm', 'install npm')] : [];
}

/** Returns the files that completely determine an installation. Returns null if it may need the whole project. */
export function installManifests(files: ProjectFiles, manifest: PackageManifest): string[] | null {
  return installsAlone(files, manifest) ? MANIFESTS.filter(files.has) : null;
}

function installsAlone(files: ProjectFiles, manifest: PackageManifest): boolean {
  if (manifest.raw.workspaces !== undefined || FURTHER.some(files.has)) return false;
  if (INSTALL_SCRIPTS.some((name) => manifest.scripts[name] !== undefined)) return false;
  return Object.values(installedPackages(manifest)).every(
    (version) => typeof version === 'string' && !/^(file|link|workspace|portal|patch):|^[.~]?\.?\//.test(version),
  );
}
