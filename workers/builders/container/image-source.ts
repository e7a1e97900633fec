import { parseImage } from '../../../shared/domain/image-reference.js';
import { type Engine, unlessGone } from '../../docker/engine.js';
import { PullError, pullImage } from '../../docker/pull.js';
import { type BuildContext, BuildError, type BuildRequest } from '../builder.js';
import { packContext } from './build-context.js';
import { buildInEngine, type EngineBuild } from './engine-build.js';

/**
 * Pulls the very image that the deployment was resolved to and makes it ours, by a label and nothing else: so it is kept,
 * pushed to the nodes and removed like an image that was built. Returns its id. Throws `BuildError`.
 */
export async function adoptImage(
  engine: Engine,
  { configuration, commitSha, serviceId }: BuildRequest,
  context: BuildContext,
  build: Omit<EngineBuild, 'context'>,
): Promise<string> {
  const image = parseImage(configuration.image);
  if (image === null || !/^[0-9a-f]{64}$/.test(commitSha)) throw new BuildError(`"${configuration.image}" is no image`);
  const pinned = `${image.name}@sha256:${commitSha}`;
  const known = (await unlessGone(engine.calls.getImage(pinned).inspect())) !== undefined;
  await context.log(`Pulls ${pinned}`);
  await pullImage(engine, pinned, { ...context, account: build.accounts.get(image.registry) }).catch((error) => {
    throw error instanceof PullError ? new BuildError(error.message) : error;
  });
  // A builder does not take an id for a name.
  const [repo, tag] = [`ranvier/${serviceId}`, `source-${commitSha.slice(0, 24)}`];
  await engine.calls.getImage(pinned).tag({ repo, tag });
  try {
    return await labelImage(engine, `${repo}:${tag}`, context, build);
  } finally {
    if (!known) await unlessGone(engine.calls.getImage(pinned).remove());
  }
}

/** Makes the image of a name ours, by the build's labels and nothing else, takes the name away and returns the new id. */
export async function labelImage(
  engine: Engine,
  name: string,
  context: BuildContext,
  build: Omit<EngineBuild, 'context'>,
): Promise<string> {
  try {
    const dockerfile = packContext({ folders: [], files: { Dockerfile: `FROM ${name}\n` } });
    return await buildInEngine(engine, { ...build, context: dockerfile }, context);
  } finally {
    await unlessGone(engine.calls.getImage(name).remove());
  }
}
