import type { PackageJson } from './package-json.js';

/** Dependency → the folder in which it keeps results for the next build. `*` is kept for every project. */
const FOLDERS: readonly (readonly [dependency: string, folder: string])[] = [
  ['*', 'node_modules/.cache'],
  ['next', '.next/cache'],
  ['astro', 'node_modules/.astro'],
  ['@angular/cli', '.angular/cache'],
  ['parcel', '.parcel-cache'],
  ['turbo', '.turbo/cache'],
];

/** Every folder of `frameworkCaches`, also below the project's folder. No image contains them. */
const LEFT_OUT = new RegExp(`(^|/)(${FOLDERS.map(([, folder]) => folder.replace(/[.\\]/g, '\\$&')).join('|')})$`);

/** The folders of a Node project whose content is kept for its next build, relative to the project's folder. */
export function frameworkCaches({ dependencies }: Pick<PackageJson, 'dependencies'>): string[] {
  const uses = (dependency: string) => dependency === '*' || dependencies[dependency] !== undefined;
  return FOLDERS.filter(([dependency]) => uses(dependency)).map(([, folder]) => folder);
}

/** True if the path, relative to an image, is a cache of a framework. */
export function isFrameworkCache(path: string): boolean {
  return LEFT_OUT.test(path);
}
