import { posix } from 'node:path';
import { isRecord, recordIn } from '../files/json-values.js';
import { wholeInside } from '../files/project-files.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { DEPENDENCY_FIELDS, LOCKS, SCRIPTS } from './locked-install.js';

/** Fields of package.json from which npm installs packages. */
const SOURCES = [...DEPENDENCY_FIELDS, 'workspaces'];

/**
 * Returns true if package.json and the lock file list no packages, and no script would run. The build then skips npm,
 * which would take half a second to find out that it has nothing to do.
 */
export async function hasNothingToInstall(
  app: string,
  { install, manifests, folders }: Pick<BuildPlan, 'install' | 'manifests' | 'folders'>,
): Promise<boolean> {
  // If `manifests` is null, the installation also reads other files of the project or runs its scripts, so npm must
  // run.
  if (!/^npm (ci|install)$/.test(install.join()) || manifests === null) return false;
  const read = (name: string) => wholeInside(app, posix.join(folders.install, name));
  const project = recordIn(await read('package.json'));
  if (project === null || SOURCES.some((name) => !isEmpty(project[name]))) return false;
  const { scripts } = project;
  if (isRecord(scripts) && SCRIPTS.some((name) => scripts[name] !== undefined)) return false;
  for (const name of LOCKS.filter((lock) => manifests.includes(lock))) {
    const lock = recordIn(await read(name));
    if (lock === null || !isEmpty(lock.dependencies) || !namesOnlyItself(lock.packages)) return false;
  }
  return true;
}

/** Returns true if a lock file lists only the project itself, whose path in it is ''. */
function namesOnlyItself(packages: unknown): boolean {
  return packages === undefined || (isRecord(packages) && Object.keys(packages).every((path) => path === ''));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
}
