import { join, posix } from 'node:path';
import { type PackageManifest, readManifest } from '../files/package-manifest.js';
import { type ProjectFiles, readProject, textInside } from '../files/project-files.js';
import { READ_FILES } from '../languages/languages.js';
import type { Application, FoundFramework } from './application.js';
import { mayUseFramework } from './framework-packages.js';
import { FRAMEWORKS } from './frameworks.js';
import { nxProject } from './nx-project.js';
import { PLATFORM_FILES, type PlatformSettings } from './platform-files.js';
import { inFolder, type RepositoryTree } from './repository-tree.js';
import { ancestors, packageFolders, toolOf, type Workspace, workspacePatterns } from './workspace.js';

/** A folder of a repository, with everything that determines how it is built. */
export interface DetectedProject {
  /** The folder's path, relative to the repository; '' is the repository itself. */
  folder: string;
  files: ProjectFiles;
  /** Null if the folder has neither a package.json nor an Nx project. */
  app: Application | null;
  /** The workspace that has this folder as its root or as a package; null if there is none. */
  workspace: Workspace | null;
  platforms: PlatformSettings[];
  /** Folders with an index.html, relative to the project; '.' is the project itself. */
  pages: string[];
  /** Choices that were made during detection, for the log. */
  notes: string[];
}

const SCRIPTS = ['ts', 'js', 'mjs', 'cjs', 'mts'];
const CONFIGURATIONS = [
  ...['next', 'nuxt', 'astro', 'svelte', 'vite', 'react-router', 'eleventy'].flatMap((name) =>
    SCRIPTS.map((extension) => `${name}.config.${extension}`),
  ),
  ...['.eleventy.js', '.eleventy.cjs', 'pages/+config.ts', 'pages/+config.js'],
  ...['angular.json', 'nest-cli.json', 'nx.json', 'lerna.json', 'turbo.json', 'turbo.jsonc'],
  ...['pnpm-workspace.yaml', 'project.json', 'tsconfig.json'],
  ...PLATFORM_FILES,
];

/** Maximum number of packages of a workspace whose dependencies are read to order the build. */
const MAX_PACKAGES = 300;
const MAX_PAGES = 200;
const EMPTY = readManifest('{}');
/** Maximum number of a folder's files that are read because their names match patterns such as `*.csproj`. */
const MAX_BY_PATTERN = 20;

/** Returns the names in `READ_FILES`. Replaces patterns such as `*.csproj` by the items of `names` that match. */
function readFiles(names: Iterable<string>): string[] {
  const ends = READ_FILES.filter((name) => name.startsWith('*')).map((name) => name.slice(1));
  const found = [...names].filter((name) => ends.some((end) => name.endsWith(end)));
  return [...READ_FILES.filter((name) => !name.startsWith('*')), ...found.sort().slice(0, MAX_BY_PATTERN)];
}

/** Name of a configuration file, without its extension → the package that reads the file. */
const CONFIGURED: Readonly<Record<string, string>> = {
  'next.config': 'next',
  'nuxt.config': 'nuxt',
  'astro.config': 'astro',
  'svelte.config': '@sveltejs/kit',
  'react-router.config': '@react-router/dev',
  'vite.config': 'vite',
};

/** Removes all frameworks but the configured one: an Nx root installs the frameworks of all its applications. */
function configuredOnly(dependencies: PackageManifest['dependencies'], files: ProjectFiles): Record<string, string> {
  const stems = Object.keys(CONFIGURED).filter((stem) => SCRIPTS.some((end) => files.has(`${stem}.${end}`)));
  const own = stems.map((stem) => CONFIGURED[stem]);
  const packages = own.length === 0 ? [] : Object.values(FRAMEWORKS).flatMap((row) => row.packages);
  const others = new Set(packages.filter((name) => !own.includes(name)));
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => !others.has(name)));
}

/** Adds frameworks of the workspace's root for which the package has a configuration, but no dependency. */
function withConfigured(manifest: PackageManifest, files: ProjectFiles, workspace: Workspace | null): PackageManifest {
  const above = workspace?.manifest.dependencies ?? {};
  const configured = Object.entries(CONFIGURED).flatMap(([stem, name]) => {
    const range = SCRIPTS.some((extension) => files.has(`${stem}.${extension}`)) ? above[name] : undefined;
    return range === undefined ? [] : [[name, range] as const];
  });
  return { ...manifest, dependencies: { ...Object.fromEntries(configured), ...manifest.dependencies } };
}

/** Reads the files of a repository that detection needs. Throws `BuildError` if a file is too large or invalid. */
export class ProjectReader {
  readonly #app: string;
  readonly tree: RepositoryTree;

  /** `app` is the real path of the repository's files. */
  constructor(app: string, tree: RepositoryTree) {
    this.#app = app;
    this.tree = tree;
  }

  async files(folder: string): Promise<ProjectFiles> {
    const base = await readProject(join(this.#app, folder));
    const texts = new Map<string, string>();
    for (const name of [...CONFIGURATIONS, ...readFiles(this.tree.entries(folder).keys())]) {
      if (this.tree.kind(inFolder(folder, name)) !== 'file') continue;
      const text = await textInside(join(this.#app, folder), name);
      if (text !== undefined) texts.set(name, text);
    }
    return {
      has: (name) => base.has(name) || this.tree.kind(inFolder(folder, name)) !== undefined,
      text: (name) => texts.get(name) ?? base.text(name),
      names: () => base.names(),
      below: (path) => [...this.tree.entries(inFolder(folder, path)).keys()].sort(),
      engines: base.engines,
    };
  }

  /** Returns the folder's application; null if there is none. An Nx project needs no package.json. */
  async application(
    folder: string,
    files: ProjectFiles,
    workspace: Workspace | null = null,
  ): Promise<Application | null> {
    const text = files.text('package.json');
    const nx = nxProject(files, workspace === null ? folder : posix.relative(workspace.folder, folder));
    if (text === undefined && (nx === null || workspace === null)) return null;
    const manifest =
      text === undefined
        ? {
            ...EMPTY,
            name: nx?.name ?? null,
            dependencies: configuredOnly(workspace?.manifest.dependencies ?? {}, files),
          }
        : withConfigured(readManifest(text, inFolder(folder, 'package.json')), files, workspace);
    const [framework = null] = text !== undefined && mayUseFramework(text) ? await this.#frameworks(folder) : [];
    return { files, manifest, framework, nx };
  }

  /** Returns the workspace of which the folder is the root or a package; null if there is none. */
  async workspaceOf(folder: string): Promise<Workspace | null> {
    for (const root of [folder, ...ancestors(folder)]) {
      if (!['package.json', 'pnpm-workspace.yaml'].some((name) => this.tree.kind(inFolder(root, name)) === 'file')) {
        continue;
      }
      const files = await this.files(root);
      const patterns = workspacePatterns(files);
      const folders = patterns === null ? [] : packageFolders(this.tree, root, patterns);
      const nx = await this.#nxFolders(root, files);
      const all = [...new Set([...folders, ...nx])];
      if ((patterns === null && nx.length === 0) || (root !== folder && !all.includes(folder))) continue;
      return this.#workspace(root, files, all);
    }
    return null;
  }

  /** Lists the folders of Nx projects. They may have no package.json, because the root installs their packages. */
  async #nxFolders(root: string, files: ProjectFiles): Promise<string[]> {
    if (!files.has('nx.json')) return [];
    return this.tree.foldersWith('project.json', root).filter((folder) => folder !== root);
  }

  async #workspace(folder: string, files: ProjectFiles, folders: readonly string[]): Promise<Workspace> {
    const packages = [];
    for (const path of folders.slice(0, MAX_PACKAGES)) {
      const text = await textInside(join(this.#app, path), 'package.json');
      const own = text === undefined ? EMPTY : readManifest(text, inFolder(path, 'package.json'));
      packages.push({ folder: path, manifest: own });
    }
    const manifest = readManifest(files.text('package.json') ?? '{}', inFolder(folder, 'package.json'));
    return { folder, files, manifest, packages, tool: toolOf(files, manifest) };
  }

  /** Returns folders with a page, relative to the project, the shallowest first. */
  pages(folder: string): string[] {
    const prefix = folder === '' ? 0 : folder.length + 1;
    const found = this.tree.foldersWith('index.html', folder).slice(0, MAX_PAGES);
    if (found.length > 0) return found.map((path) => path.slice(prefix) || '.');
    // A folder with pages but without an index.html is a site too.
    return [...this.tree.entries(folder).keys()].some((name) => name.endsWith('.html')) ? ['.'] : [];
  }

  async #frameworks(folder: string): Promise<FoundFramework[]> {
    // Imported on demand: loading build-info takes time, and only projects with a framework's package need it.
    const { findFrameworks } = await import('./build-info.js');
    return findFrameworks(this.tree, (path) => textInside(this.#app, path), folder);
  }
}
