import { join } from 'node:path';
import type { Config } from '../../../shared/config.js';
import { isBelow } from '../../sandbox/plan.js';
import type { BuildRequest } from '../builder.js';
import { createDockerignore } from '../path-filter.js';
import { below, fileInside, folderInside, textInside } from '../project.js';
import type { ContextContent } from './build-context.js';

export interface DockerfileBuild {
  content: ContextContent;
  /** The Dockerfile's path in the context. */
  dockerfile: string;
  buildArgs: Record<string, string>;
}

/** What a Dockerfile outside its context is called there. */
const OUTSIDE = '.ranvier.Dockerfile';
/** Builders know these without a declaration. */
const PREDEFINED = /^(http|https|ftp|no|all)_proxy$/i;

/**
 * A build by the repository's own Dockerfile. Both paths count from the project's folder (`rootDirectory`); a Dockerfile
 * that is not there is looked for in the context. Of the variables it gets those that it declares (`ARG`). Throws
 * `BuildError` where a path leads nowhere, or out of the repository.
 */
export async function dockerfileContext(
  { configuration, environment }: Pick<BuildRequest, 'configuration' | 'environment'>,
  { buildEnvironment }: Pick<Config, 'buildEnvironment'>,
  { app, project }: { app: string; project: string },
): Promise<DockerfileBuild> {
  const { dockerContext, dockerfilePath } = configuration;
  const context = await folderInside(app, join(below(app, project), dockerContext), 'dockerContext');
  const beside = await textInside(context, dockerfilePath);
  const path =
    beside !== undefined && (await textInside(project, dockerfilePath)) === undefined
      ? await fileInside(app, join(below(app, context), dockerfilePath), 'dockerfilePath')
      : await fileInside(app, join(below(app, project), dockerfilePath), 'dockerfilePath');
  const text = (await textInside(app, below(app, path))) ?? '';
  const inside = isBelow(path, context);
  const dockerfile = inside ? below(context, path) : OUTSIDE;
  const ignored =
    (await textInside(app, `${below(app, path)}.dockerignore`)) ?? (await textInside(context, '.dockerignore')) ?? '';
  const ignore = createDockerignore(ignored);
  return {
    content: {
      folders: [{ at: '', path: context, filter: { keeps: (file) => file === dockerfile || ignore.keeps(file) } }],
      files: inside ? {} : { [OUTSIDE]: text },
    },
    dockerfile,
    buildArgs: declared(text, { ...withoutPaths(buildEnvironment), CI: 'true', ...environment }),
  };
}

/** The variables that a Dockerfile asks for. */
function declared(dockerfile: string, variables: Record<string, string>): Record<string, string> {
  const names = new Set<string>();
  for (const [, list = ''] of dockerfile.matchAll(/^[ \t]*ARG[ \t]+((?:[^\\\n]|\\.|\\\r?\n)*)/gim)) {
    for (const [, name = ''] of list.matchAll(/(?:^|\s)([A-Za-z_]\w*)(?==|\s|$)/g)) names.add(name);
  }
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name) || PREDEFINED.test(name)));
}

/** Files of this host are not in the container. */
export function withoutPaths(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => !value.startsWith('/')));
}
