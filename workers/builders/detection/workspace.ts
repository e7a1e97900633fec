import { posix } from 'node:path';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { linearPattern, literally } from '../../../shared/core/linear-pattern.js';
import { quoteIfNeeded } from '../../core/quote.js';
import { BuildError } from '../../failures/explained-errors.js';
import { recordOf } from '../files/json-values.js';
import { parseYaml } from '../files/lazy-packages.js';
import { type PackageManifest, readManifest } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import { parentOf, type RepositoryTree } from './repository-tree.js';

interface WorkspacePackage {
  /** The package's folder, relative to the repository. */
  folder: string;
  manifest: PackageManifest;
}

/** Several packages that are installed together, managed by npm, pnpm, yarn, bun, Lerna or Nx. */
export interface Workspace {
  /** The root of the workspace, relative to the repository. */
  folder: string;
  files: ProjectFiles;
  manifest: PackageManifest;
  packages: WorkspacePackage[];
  /** The tool that builds packages in the order of their dependencies; null if there is none. */
  tool: 'turbo' | 'nx' | 'pnpm' | null;
}

const MAX_PATTERNS = 200;
const MAX_PATTERN_LENGTH = 300;

/** Returns the package patterns of a workspace; null if the folder is not a workspace root. Throws `BuildError`. */
export function workspacePatterns(files: ProjectFiles): string[] | null {
  const pnpm = files.text('pnpm-workspace.yaml');
  const yaml = pnpm === undefined ? null : patternsIn(() => parseYaml(pnpm), 'pnpm-workspace.yaml');
  if (yaml !== null) return yaml;
  const text = files.text('package.json');
  const own = text === undefined ? null : readManifest(text).workspaces;
  if (own !== null) return [...own];
  const lerna = files.text('lerna.json');
  return lerna === undefined ? null : patternsIn(() => JSON.parse(lerna), 'lerna.json');
}

function patternsIn(parse: () => unknown, file: string): string[] | null {
  let value: unknown;
  try {
    value = parse();
  } catch (error) {
    throw new BuildError(`${file} cannot be read: ${errorMessage(error).split('\n')[0]?.slice(0, 200)}`);
  }
  const list = recordOf(value).packages;
  return Array.isArray(list) ? list.filter((pattern) => typeof pattern === 'string').slice(0, MAX_PATTERNS) : null;
}

/** Returns the folders below `root` with a package.json that match the patterns. `!` excludes folders. */
export function packageFolders(tree: RepositoryTree, root: string, patterns: readonly string[]): string[] {
  const wanted = matcher(patterns.filter((pattern) => !pattern.startsWith('!')));
  const unwanted = matcher(patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1)));
  const prefix = root === '' ? 0 : root.length + 1;
  return tree
    .foldersWith('package.json', root)
    .filter((folder) => folder !== root)
    .filter((folder) => wanted(folder.slice(prefix)) && !unwanted(folder.slice(prefix)));
}

/** Tenants write the patterns, so RE2 matches them, which takes linear time for every pattern. */
function matcher(patterns: readonly string[]): (path: string) => boolean {
  const expressions = patterns.filter((pattern) => pattern.length <= MAX_PATTERN_LENGTH).map(expressionOf);
  if (expressions.length === 0) return () => false;
  const regex = linearPattern(`^(?:${expressions.join('|')})$`);
  return (path) => regex.test(`${path}/`);
}

function expressionOf(pattern: string): string {
  const levels = pattern.split('/').filter((level) => level !== '' && level !== '.');
  return levels.map((level) => (level === '**' ? '(?:[^/]+/)*' : `${nameExpression(level)}/`)).join('');
}

function nameExpression(level: string): string {
  const parts = level.match(/\*+|\?|[{},]|[^*?{},]+/g) ?? [];
  const balanced = parts.filter((part) => part === '{').length === parts.filter((part) => part === '}').length;
  let depth = 0;
  return (
    parts
      .map((part) => {
        if (part.startsWith('*')) return '[^/]*';
        if (part === '?') return '[^/]';
        if (balanced && part === '{') {
          depth += 1;
          return '(?:';
        }
        if (balanced && part === '}' && depth > 0) {
          depth -= 1;
          return ')';
        }
        if (part === ',' && depth > 0) return '|';
        return literally(part);
      })
      .join('') + ')'.repeat(depth)
  );
}

/** Returns the folders above a folder, the nearest first. */
export function ancestors(folder: string): string[] {
  const found: string[] = [];
  for (let at = folder; at !== ''; ) {
    at = parentOf(at);
    found.push(at);
  }
  return found;
}

/** Returns the workspace packages on which the packages in these folders depend, each after its own dependencies. */
function neededPackages(packages: readonly WorkspacePackage[], folders: readonly string[]): WorkspacePackage[] {
  const byName = new Map(packages.flatMap((one) => (one.manifest.name === null ? [] : [[one.manifest.name, one]])));
  const ordered: WorkspacePackage[] = [];
  const seen = new Set<string>();
  const visit = (one: WorkspacePackage): void => {
    if (seen.has(one.folder)) return;
    seen.add(one.folder);
    for (const name of Object.keys(one.manifest.dependencies)) {
      const needed = byName.get(name);
      if (needed !== undefined) visit(needed);
    }
    ordered.push(one);
  };
  packages.filter((one) => folders.includes(one.folder)).forEach(visit);
  return ordered.filter((one) => !folders.includes(one.folder));
}

/** Returns the folders of packages that neither `folder` nor the root needs, relative to the workspace. */
export function unneededPackages({ folder: root, manifest, packages }: Workspace, folder: string): string[] {
  const own = [root, folder];
  const needed = neededPackages([...packages, { folder: root, manifest }], own);
  const others = packages.filter((one) => !own.includes(one.folder) && !needed.includes(one));
  return others.map((one) => posix.relative(root, one.folder));
}

/**
 * Returns the commands that build a package and its dependencies. They run in the workspace's root. `own` is the
 * package's build command, which runs in the package's folder; null if it has none.
 */
export function workspaceBuild(workspace: Workspace, folder: string, own: string | null, run: string): string[] {
  const { tool, packages } = workspace;
  const name = packages.find((one) => one.folder === folder)?.manifest.name ?? null;
  const isScript = own === `${run} build`;
  if (name !== null && isScript) {
    if (tool === 'turbo') return [`turbo run build --filter=${quoteIfNeeded(`${name}...`)}`];
    if (tool === 'nx') return [`nx run ${quoteIfNeeded(`${name}:build`)}`];
    if (tool === 'pnpm') return [`pnpm --filter ${quoteIfNeeded(`${name}...`)} run build`];
  }
  const within = (path: string, command: string) =>
    `cd ${quoteIfNeeded(posix.relative(workspace.folder, path))} && ${command}`;
  const needed = neededPackages(packages, [folder]).filter(({ manifest }) => manifest.scripts.build !== undefined);
  return [...needed.map((one) => within(one.folder, `${run} build`)), ...(own === null ? [] : [within(folder, own)])];
}

/** Returns the tool that builds a workspace's packages in order; null if there is none. */
export function toolOf(files: ProjectFiles, manifest: PackageManifest): Workspace['tool'] {
  const installs = (name: string) => Object.hasOwn(manifest.dependencies, name);
  const tasks = files.text('turbo.json') ?? files.text('turbo.jsonc') ?? '';
  // Turborepo runs only the tasks that its configuration names.
  if (installs('turbo') && /"(?:[^"\s]{1,200}#)?build"\s{0,20}:/.test(tasks)) return 'turbo';
  if (installs('nx') && files.has('nx.json')) return 'nx';
  return files.has('pnpm-workspace.yaml') ? 'pnpm' : null;
}
