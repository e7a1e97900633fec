import { dirname, join } from 'node:path';
import { quote } from '../../core/quote.js';
import type { PackageManifest } from '../files/package-manifest.js';

/** Dependency → the folder in which it keeps results for the next build. `*` means every project. */
const FOLDERS: readonly (readonly [dependency: string, folder: string])[] = [
  ['*', 'node_modules/.cache'],
  ['next', '.next/cache'],
  ['astro', 'node_modules/.astro'],
  ['@angular/cli', '.angular/cache'],
  ['parcel', '.parcel-cache'],
  ['turbo', '.turbo/cache'],
];

/** Vite writes into these folders whenever it runs. In an image, they would be read-only for its preview server. */
const MADE_ANEW = ['node_modules/.vite', 'node_modules/.vite-temp'];

export const RAILS_CACHE = 'tmp/cache/assets';

/** Matches the paths of cache folders at any depth of a project. Images are built without them. */
const LEFT_OUT = new RegExp(
  `(^|/)(${[...FOLDERS.map(([, folder]) => folder), ...MADE_ANEW, RAILS_CACHE].map((folder) => folder.replace(/[.\\]/g, '\\$&')).join('|')})$`,
);

/** Returns the folders of a Node.js project that are kept for its next build, relative to the project. */
export function frameworkCaches({ dependencies }: Pick<PackageManifest, 'dependencies'>): string[] {
  const uses = (dependency: string) => dependency === '*' || dependencies[dependency] !== undefined;
  return FOLDERS.filter(([dependency]) => uses(dependency)).map(([, folder]) => folder);
}

/** Returns the name under which a folder is kept among the caches of its service. */
export function keptName(folder: string): string {
  return `kept-${folder.replace(/[^A-Za-z]+/g, '-').replace(/^-|-$/g, '')}`;
}

/** Returns a shell command that links the kept folders into the project. It replaces no existing folder. */
export function linkKept(folders: readonly string[], cache: string): string {
  if (folders.length === 0) return '';
  const links = folders.map((folder) => {
    const kept = quote(join(cache, keptName(folder)));
    // Does not create node_modules, because its absence means that nothing was installed.
    const parent = quote(dirname(folder));
    const ready = /(^|\/)node_modules\//.test(folder) ? `[ -d ${parent} ]` : `mkdir -p ${parent}`;
    return `if [ ! -e ${quote(folder)} ] && ${ready}; then mkdir -p ${kept} && ln -sfn ${kept} ${quote(folder)}; fi`;
  });
  return `{ ${links.join('; ')}; } >/dev/null 2>&1; `;
}

/** Returns true if the path, relative to an image, is a framework's cache. */
export function isFrameworkCache(path: string): boolean {
  return LEFT_OUT.test(path);
}
