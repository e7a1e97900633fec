import { cp, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { TestRepository } from './repositories.js';

const MODULES = resolve(import.meta.dirname, '../../../node_modules');

/** Commits packages of node_modules with their dependencies, so that the application needs no registry. */
export async function vendor(repository: TestRepository, packages: readonly string[]): Promise<void> {
  const found = new Set<string>();
  const left = [...packages];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const { dependencies = {} } = JSON.parse(await readFile(join(MODULES, name, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    left.push(...Object.keys(dependencies));
    await cp(join(MODULES, name), join(repository.folder, 'node_modules', name), { recursive: true });
  }
  await repository.commit('Packages', {});
}
