import { recordOf } from '../files/json-values.js';
import { installedPackages, manifestOf } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import { frameworkCaches } from '../toolchains/framework-caches.js';
import { bothWishes, frameworkNode, impliedNode, scriptNode, wishedNode } from '../toolchains/implied-node.js';
import { nodeWish } from '../toolchains/node-version.js';
import { scriptCommand } from '../toolchains/npm-script.js';
import { installManifests, managerTools, packageManagerOf } from '../toolchains/package-manager.js';
import { program } from '../toolchains/required-tool.js';
import type { Language, LanguagePlan } from './language.js';

/** Development dependencies stay installed, because builds and the start commands of many applications need them. */
export const node: Language = {
  runtime: 'node',
  marks: ['package.json'],
  reads: [],
  matches: (files) => files.has('package.json'),
  plan(files, member): LanguagePlan {
    const manifest = manifestOf(files);
    const root = { files, manifest };
    const project = member === undefined ? root : { files: member, manifest: manifestOf(member) };
    const packages = installedPackages(project.manifest);
    const manager = packageManagerOf(files, manifest);
    return {
      tools: [program('node', 'install Node.js 20 or newer'), ...managerTools(manager)],
      versions: {
        node: bothWishes(
          wishedNode(
            nodeWish(project, member === undefined ? null : root),
            impliedNode({ ...installedPackages(manifest), ...packages }, files.engines),
            frameworkNode(packages, files.engines),
          ),
          scriptNode(project.manifest.raw.scripts),
        ),
        manager: { name: manager.name, wish: manager.wish },
      },
      install: files.has('package.json') || files.has('pnpm-workspace.yaml') ? [manager.install] : [],
      manifests: installManifests(files, manifest),
      dependencies: 'node_modules',
      // workers/builders/detection decides how a Node.js project is built and started.
      build: [],
      start: null,
      manager: manager.name,
      startAdvice: 'add a "start" script to package.json',
      searchPath: ['node_modules/.bin'],
      environment: manager.environment,
      buildEnvironment: {
        ...manager.buildEnvironment,
        // Disables Husky, which sets up git hooks. There is no git repository.
        HUSKY: '0',
        // The compile cache costs 0.2 s, and no later command can read it, because each command has its own /tmp.
        NODE_DISABLE_COMPILE_CACHE: '1',
        npm_config_audit: 'false',
        npm_config_fund: 'false',
        npm_config_update_notifier: 'false',
        npm_config_progress: 'false',
        ...withoutBrowsers({ ...recordOf(manifest.raw.dependencies), ...recordOf(project.manifest.raw.dependencies) }),
      },
      caches: manager.caches,
      keptFolders: frameworkCaches(project.manifest),
    };
  },
};

/** Package that tests use → the variable that prevents its installation from downloading a browser. */
const BROWSERS: Readonly<Record<string, readonly [variable: string, value: string]>> = {
  cypress: ['CYPRESS_INSTALL_BINARY', '0'],
  playwright: ['PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD', '1'],
  puppeteer: ['PUPPETEER_SKIP_DOWNLOAD', 'true'],
  chromedriver: ['CHROMEDRIVER_SKIP_DOWNLOAD', 'true'],
};

/** Returns variables that skip downloads of browsers, unless the application itself may need one. */
function withoutBrowsers(dependencies: Readonly<Record<string, unknown>>): Record<string, string> {
  const unused = Object.entries(BROWSERS).filter(([name]) => dependencies[name] === undefined);
  return Object.fromEntries(unused.map(([, variable]) => variable));
}

/** Returns the command that runs an `npm start` script without npm; null if npm has to run it. */
export function directStart(files: readonly (ProjectFiles | undefined)[], command: string): string | null {
  const [project] = files;
  // An .npmrc may change the shell or the options of scripts, so npm itself must run them.
  if (project === undefined || files.some((folder) => folder?.has('.npmrc'))) return null;
  const { name, version, config, engines, bin, scripts } = manifestOf(project).raw;
  return scriptCommand(command, { name, version, config, engines, bin, scripts: recordOf(scripts) });
}
