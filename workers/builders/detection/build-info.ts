import { posix } from 'node:path';
import { FileSystem, Project } from '@netlify/build-info';
import type { FoundFramework } from './application.js';
import { normal, type RepositoryTree } from './repository-tree.js';

/** The accuracy of frameworks that package.json lists. build-info gives less to what only a file name suggests. */
const NAMED_BY_PACKAGE = 4;

/** The file system that build-info sees: a repository whose root is `/`. */
class TreeFileSystem extends FileSystem {
  readonly #tree: RepositoryTree;
  readonly #text: (path: string) => Promise<string | undefined>;
  readonly #listings = new Map<string, Record<string, 'directory' | 'file'>>();

  constructor(tree: RepositoryTree, text: (path: string) => Promise<string | undefined>) {
    super();
    this.#tree = tree;
    this.#text = text;
    const silent = () => undefined;
    this.logger = { debug: silent, log: silent, error: silent, info: silent, warn: silent };
  }

  // With the environment `browser`, build-info does not look into node_modules, which a checkout does not have.
  override getEnvironment(): ReturnType<FileSystem['getEnvironment']> {
    return 'browser' as ReturnType<FileSystem['getEnvironment']>;
  }

  override async fileExists(path: string): Promise<boolean> {
    return this.#tree.kind(normal(this.resolve(path))) !== undefined;
  }

  override async readDir(path: string): Promise<string[]>;
  override async readDir(path: string, withFileTypes: true): Promise<Record<string, 'directory' | 'file'>>;
  override async readDir(path: string, withFileTypes?: true): Promise<string[] | Record<string, 'directory' | 'file'>> {
    const folder = normal(this.resolve(path));
    const known = this.#listings.get(folder);
    const listing = known ?? Object.assign(Object.create(null), Object.fromEntries(this.#tree.entries(folder)));
    if (known === undefined) this.#listings.set(folder, listing);
    return withFileTypes ? listing : Object.keys(listing);
  }

  override async readFile(path: string): Promise<string> {
    const text = await this.#text(normal(this.resolve(path)));
    if (text === undefined) throw new Error(`${path} is not there`);
    return text;
  }

  override resolve(...paths: string[]): string {
    return posix.resolve('/', this.cwd, ...paths);
  }

  override isAbsolute(path: string): boolean {
    return path.startsWith('/');
  }
}

/** Returns the frameworks that a folder's package.json lists. File names mislead: every config.json suggests Hugo. */
export async function findFrameworks(
  tree: RepositoryTree,
  text: (path: string) => Promise<string | undefined>,
  folder: string,
): Promise<FoundFramework[]> {
  const files = new TreeFileSystem(tree, text);
  const project = new Project(files, `/${folder}`, '/').setEnvironment({}).setReportFn(() => undefined);
  const found = await project.detectFrameworksInPath(`/${folder}`);
  return found
    .filter(({ detected }) => detected.accuracy >= NAMED_BY_PACKAGE)
    .map(({ id, name, version }) => ({ id, name, version: version?.version ?? null }));
}
