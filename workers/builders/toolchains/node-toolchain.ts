import { errorMessage } from '../../../shared/core/errors.js';
import { BuildError } from '../builder.js';
import type { ProjectFiles } from '../project-files.js';
import { scriptCommand } from './npm-script.js';
import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';

interface Manager {
  name: 'npm' | 'pnpm' | 'yarn';
  install: string;
  caches: Record<string, string>;
}

interface Package {
  scripts: Record<string, unknown>;
  /** Names → versions, of all kinds of dependencies. */
  dependencies: Record<string, unknown>;
  hasWorkspaces: boolean;
  main: string | null;
  packageManager: string;
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
const ENTRY_FILES = ['server.js', 'index.js', 'app.js', 'main.js', 'server.mjs', 'index.mjs'];

/**
 * Node projects, recognised by package.json. Development dependencies stay installed: builds need them, and many
 * applications start with one.
 */
export const node: Toolchain = {
  runtime: 'node',
  matches: (files) => files.has('package.json'),
  plan(files): ToolchainPlan {
    const manifest = readPackage(files);
    const manager = managerOf(files, manifest);
    return {
      tools: [
        program('node', 'install Node.js 20 or newer'),
        manager.name === 'npm'
          ? program('npm', 'install npm')
          : program(
              manager.name,
              `install it with "npm install -g ${manager.name}"`,
              `npm install --global --prefix "$TOOLS" ${packageOf(manager, manifest)}`,
            ),
      ],
      install: files.has('package.json') ? [manager.install] : [],
      manifests: installsAlone(files, manifest) ? MANIFESTS.filter(files.has) : null,
      build: has(manifest.scripts.build) ? [`${manager.name} run build`] : [],
      start: startOf(files, manifest, manager),
      startAdvice: 'add a "start" script to package.json',
      searchPath: ['node_modules/.bin'],
      environment: {},
      buildEnvironment: {
        npm_config_audit: 'false',
        npm_config_fund: 'false',
        npm_config_update_notifier: 'false',
        npm_config_progress: 'false',
      },
      caches: manager.caches,
    };
  },
};

/** The command that runs the script of an `npm start` itself (`scriptCommand`); null if npm has to run it. */
export function directStart(files: ProjectFiles, command: string): string | null {
  // The file may change the shell or the options of scripts.
  if (files.has('.npmrc')) return null;
  const { name, version, config, engines, bin, scripts } = parsePackage(files);
  return scriptCommand(command, { name, version, config, engines, bin, scripts: isRecord(scripts) ? scripts : {} });
}

function parsePackage(files: ProjectFiles): Record<string, unknown> {
  const text = files.text('package.json') ?? '{}';
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new BuildError(`package.json is not valid JSON: ${errorMessage(error)}`);
  }
  if (!isRecord(value)) throw new BuildError('package.json is not a JSON object');
  return value;
}

function readPackage(files: ProjectFiles): Package {
  const value = parsePackage(files);
  return {
    scripts: isRecord(value.scripts) ? value.scripts : {},
    dependencies: Object.assign(
      {},
      ...['dependencies', 'devDependencies', 'optionalDependencies', 'resolutions', 'overrides', 'pnpm'].map((kind) =>
        isRecord(value[kind]) ? value[kind] : {},
      ),
    ),
    hasWorkspaces: value.workspaces !== undefined,
    main: has(value.main) ? value.main : null,
    packageManager: has(value.packageManager) ? value.packageManager : '',
  };
}

/** True if the manifests alone decide what an installation does. */
function installsAlone(files: ProjectFiles, { scripts, dependencies, hasWorkspaces }: Package): boolean {
  if (hasWorkspaces || FURTHER.some(files.has)) return false;
  if (INSTALL_SCRIPTS.some((name) => scripts[name] !== undefined)) return false;
  return Object.values(dependencies).every(
    (version) => typeof version === 'string' && !/^(file|link|workspace|portal|patch):|^[.~]?\.?\//.test(version),
  );
}

/** The package with the version that the project asks for, if it asks for one. */
function packageOf({ name }: Manager, { packageManager }: Package): string {
  const version = /^(pnpm|yarn)@(\d+\.\d+\.\d+)/.exec(packageManager);
  if (version?.[1] !== name) return name;
  // Version 2 and later of yarn are another package.
  return name === 'yarn' && !version[2]?.startsWith('1.') ? `@yarnpkg/cli-dist@${version[2]}` : `${name}@${version[2]}`;
}

function managerOf(files: ProjectFiles, { packageManager }: Package): Manager {
  const npm = { name: 'npm', caches: { npm_config_cache: 'npm' } } as const;
  const pnpm = { name: 'pnpm', caches: { npm_config_store_dir: 'pnpm' } } as const;
  const yarn = { name: 'yarn', caches: { YARN_CACHE_FOLDER: 'yarn' } } as const;
  if (files.has('package-lock.json') || files.has('npm-shrinkwrap.json')) return { ...npm, install: 'npm ci' };
  if (files.has('pnpm-lock.yaml')) return { ...pnpm, install: 'pnpm install --frozen-lockfile' };
  if (files.has('yarn.lock')) {
    const modern = files.has('.yarnrc.yml');
    return { ...yarn, install: modern ? 'yarn install --immutable' : 'yarn install --frozen-lockfile' };
  }
  if (packageManager.startsWith('pnpm@')) return { ...pnpm, install: 'pnpm install' };
  if (packageManager.startsWith('yarn@')) return { ...yarn, install: 'yarn install' };
  return { ...npm, install: 'npm install' };
}

function startOf(files: ProjectFiles, manifest: Package, { name }: Manager): string | null {
  if (has(manifest.scripts.start)) return `${name} start`;
  const built = has(manifest.scripts.build);
  const { main } = manifest;
  // Files below a folder are not known here, and a build may create them.
  if (
    main !== null &&
    /^[\w./@+-]+$/.test(main) &&
    (files.has(main.replace(/^\.\//, '')) || main.includes('/') || built)
  ) {
    return `node ${main}`;
  }
  const entry = ENTRY_FILES.find((file) => files.has(file));
  return entry === undefined ? null : `node ${entry}`;
}

function has(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
