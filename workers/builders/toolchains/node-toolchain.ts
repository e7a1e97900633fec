import type { ProjectFiles } from '../project-files.js';
import { frameworkCaches } from './framework-caches.js';
import { nodeWish } from './node-version.js';
import { isText, type PackageJson, readPackage } from './package-json.js';
import {
  installManifests,
  managerTools,
  type PackageManager,
  packageManagerOf,
  scriptCommand,
} from './package-manager.js';
import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';

const ENTRY_FILES = ['server.js', 'index.js', 'app.js', 'main.js', 'server.mjs', 'index.mjs'];

/**
 * Node projects, recognised by package.json. Development dependencies stay installed: builds need them, and many
 * applications start with one.
 */
export const node: Toolchain = {
  runtime: 'node',
  matches: (files) => files.has('package.json'),
  plan(files, member): ToolchainPlan {
    const root = { files, manifest: readPackage(files) };
    const project = member === undefined ? root : { files: member, manifest: readPackage(member) };
    const { manifest } = root;
    const manager = packageManagerOf(files, manifest);
    return {
      tools: [program('node', 'install Node.js 20 or newer'), ...managerTools(manager)],
      versions: { node: nodeWish(project, root), manager: { name: manager.name, wish: manager.wish } },
      install: files.has('package.json') ? [manager.install] : [],
      manifests: installManifests(files, manifest),
      build: isText(manifest.scripts.build) ? [scriptCommand(manager, 'build')] : [],
      start: startOf(files, manifest, manager),
      startAdvice: 'add a "start" script to package.json',
      searchPath: ['node_modules/.bin'],
      environment: manager.environment,
      buildEnvironment: {
        ...manager.buildEnvironment,
        // There is no repository in which hooks could be set up.
        HUSKY: '0',
        npm_config_audit: 'false',
        npm_config_fund: 'false',
        npm_config_update_notifier: 'false',
        npm_config_progress: 'false',
      },
      caches: manager.caches,
      keptFolders: frameworkCaches(project.manifest),
    };
  },
};

function startOf(files: ProjectFiles, { scripts, main }: PackageJson, manager: PackageManager): string | null {
  if (isText(scripts.start)) return scriptCommand(manager, 'start');
  const built = isText(scripts.build);
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
