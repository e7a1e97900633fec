import type { ProjectFiles } from '../project-files.js';
import { frameworkCaches } from './framework-caches.js';
import { nodeWish } from './node-version.js';
import { scriptCommand } from './npm-script.js';
import { isRecord, readPackage } from './package-json.js';
import { installManifests, managerTools, packageManagerOf } from './package-manager.js';
import { program, type Toolchain, type ToolchainPlan } from './toolchain.js';

/**
 * Node projects, recognised by package.json. Development dependencies stay installed: builds need them, and many
 * applications start with one.
 */
export const node: Toolchain = {
  runtime: 'node',
  matches: (files) => files.has('package.json'),
  plan(files, member): ToolchainPlan {
    const manifest = readPackage(files);
    const root = { files, manifest };
    const project = member === undefined ? root : { files: member, manifest: readPackage(member) };
    const manager = packageManagerOf(files, manifest);
    return {
      tools: [program('node', 'install Node.js 20 or newer'), ...managerTools(manager)],
      versions: {
        node: nodeWish(project, member === undefined ? null : root),
        manager: { name: manager.name, wish: manager.wish },
      },
      install: files.has('package.json') ? [manager.install] : [],
      manifests: installManifests(files, manifest),
      // workers/builders/detection decides how a Node project is built and started.
      build: [],
      start: null,
      manager: manager.name,
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

/**
 * The command that runs the script of an `npm start` itself (`scriptCommand`); null if npm has to run it. `files` are those
 * of the project, then those of the folders above it.
 */
export function directStart(files: readonly (ProjectFiles | undefined)[], command: string): string | null {
  const [project] = files;
  // The file may change the shell or the options of scripts.
  if (project === undefined || files.some((folder) => folder?.has('.npmrc'))) return null;
  const { name, version, config, engines, bin, scripts } = readPackage(project).raw;
  return scriptCommand(command, { name, version, config, engines, bin, scripts: isRecord(scripts) ? scripts : {} });
}
