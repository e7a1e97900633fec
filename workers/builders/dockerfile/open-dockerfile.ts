import type { Config } from '../../../shared/core/config.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { readFiles } from '../reader/read-files.js';
import type { DockerfileBuild, DockerfileInput } from './read-dockerfile.js';

/** Reads a repository's Dockerfile in another process, and logs the notes about it. Throws `BuildError`. */
export async function openDockerfile(
  places: Pick<DockerfileInput, 'app' | 'project' | 'ownPrefix'>,
  { buildEnvironment }: Pick<Config, 'buildEnvironment'>,
  { configuration, environment }: Pick<BuildRequest, 'configuration' | 'environment'>,
  { log, signal }: Pick<BuildContext, 'log' | 'signal'>,
): Promise<DockerfileBuild> {
  const { dockerContext, dockerfilePath, dockerfileTarget, dockerfileText } = configuration;
  const variables = { ...withoutPaths(buildEnvironment), CI: 'true', ...environment };
  const paths = { ...places, dockerContext, dockerfilePath, dockerfileTarget, dockerfileText };
  const build = await readFiles('readDockerfile', { ...paths, variables }, { signal });
  const stage = dockerfileTarget ? `the stage ${dockerfileTarget} of ` : '';
  await log(`Builds ${stage}the Dockerfile ${dockerfileText ? 'of the configuration' : dockerfilePath}`);
  for (const note of build.notes) await log(note, 'warn');
  return build;
}

/** Removes variables whose values are paths of this host, which do not exist in the container. */
export function withoutPaths(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => !value.startsWith('/')));
}
