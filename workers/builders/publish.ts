import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../shared/domain/configuration.js';
import { BuildError } from './builder.js';
import { contents, folderInside } from './project.js';

/**
 * The folder that a static site publishes: `publishDirectory` below the project, or the project itself where nothing was
 * built, the setting was left alone and there is an index.html. Throws `BuildError`.
 */
export async function publishedFolder(
  project: string,
  { publishDirectory }: Pick<ServiceConfiguration, 'publishDirectory'>,
  built: boolean,
): Promise<string> {
  const has = (path: string) =>
    access(join(project, path)).then(
      () => true,
      () => false,
    );
  if (!(await has(publishDirectory))) {
    const untouched = publishDirectory === DEFAULT_CONFIGURATION.publishDirectory;
    if (!built && untouched && (await has('index.html'))) return project;
    const when = built ? ' after the build' : '';
    throw new BuildError(`publishDirectory "${publishDirectory}" does not exist${when}; ${await contents(project)}`);
  }
  const folder = await folderInside(project, publishDirectory, 'publishDirectory');
  if ((await readdir(folder)).length === 0) throw new BuildError(`publishDirectory "${publishDirectory}" is empty`);
  return folder;
}
