import { errorMessage } from '../../../shared/errors.js';
import { BuildError } from '../builder.js';
import type { ProjectFiles } from '../project.js';
import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';

interface Manager {
  name: 'npm' | 'pnpm' | 'yarn';
  install: string;
  caches: Record<string, string>;
}

interface Package {
  scripts: Record<string, unknown>;
  main: string | null;
  packageManager: string;
}

const ENTRY_FILES = ['server.js', 'index.js', 'app.js', 'main.js', 'server.mjs', 'index.mjs'];

/**
 * Node projects by package.json. Development dependencies are installed and stay: builds need them, and many applications
 * start with one.
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
        program(
          manager.name,
          manager.name === 'npm' ? 'install npm' : `install it with "npm install -g ${manager.name}"`,
        ),
      ],
      install: files.has('package.json') ? [manager.install] : [],
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

function readPackage(files: ProjectFiles): Package {
  const text = files.text('package.json') ?? '{}';
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new BuildError(`package.json is not valid JSON: ${errorMessage(error)}`);
  }
  if (!isRecord(value)) throw new BuildError('package.json is not a JSON object');
  return {
    scripts: isRecord(value.scripts) ? value.scripts : {},
    main: has(value.main) ? value.main : null,
    packageManager: has(value.packageManager) ? value.packageManager : '',
  };
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
  // A path below a folder cannot be looked up here, and a build may be what makes it.
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
