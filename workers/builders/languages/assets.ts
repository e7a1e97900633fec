import { manifestOf, type PackageManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import type { LanguagePlan } from './language.js';
import { node } from './node.js';

/** Scripts that build assets, the best first. The last two come from Laravel's older templates. */
const SCRIPTS = ['build', 'heroku-postbuild', 'production', 'prod'];
/** Package, prefix of its configuration file, and build command, used if package.json has no build script. */
const BUNDLERS = [
  ['vite', 'vite.config.', 'vite build'],
  ['webpack', 'webpack.config.', 'webpack --mode production'],
] as const;

interface AssetsOptions {
  /** True if the language's own build always needs Node.js and the packages of package.json. */
  isNeeded?: boolean;
  /** Further scripts to run if package.json has them. */
  also?: readonly string[];
}

/** Adds steps that build assets with Node.js if the project has any. Throws `BuildError` if package.json is invalid. */
export function withAssets(
  files: ProjectFiles,
  plan: LanguagePlan,
  { isNeeded = false, also = [] }: AssetsOptions = {},
): LanguagePlan {
  if (!files.has('package.json')) return plan;
  const assets = node.plan(files);
  const manifest = manifestOf(files);
  const build = [
    ...buildOf(files, manifest, assets.manager),
    ...also.filter((name) => manifest.scripts[name] !== undefined).map((name) => `${assets.manager} run ${name}`),
  ];
  if (build.length === 0 && !isNeeded) return plan;
  // A build can reuse only one installation of the previous build: the language's own, if it has one.
  const installed =
    plan.install.length > 0
      ? { prepare: [...(plan.prepare ?? []), ...assets.install] }
      : { install: assets.install, manifests: assets.manifests, dependencies: assets.dependencies };
  return {
    ...plan,
    ...installed,
    tools: [...plan.tools, ...assets.tools],
    versions: { ...plan.versions, node: assets.versions.node, manager: assets.versions.manager },
    build: [...build, ...plan.build],
    searchPath: [...plan.searchPath, ...assets.searchPath],
    buildEnvironment: { ...assets.environment, ...assets.buildEnvironment, ...plan.buildEnvironment },
    caches: { ...assets.caches, ...plan.caches },
    keptFolders: [...plan.keptFolders, ...assets.keptFolders],
  };
}

function buildOf(files: ProjectFiles, { scripts, dependencies }: PackageManifest, manager: string): string[] {
  const script = SCRIPTS.find((name) => scripts[name] !== undefined);
  if (script !== undefined) return [`${manager} run ${script}`];
  const bundler = BUNDLERS.find(
    ([name, config]) => dependencies[name] !== undefined && files.names().some((file) => file.startsWith(config)),
  );
  return bundler === undefined ? [] : [bundler[2]];
}
