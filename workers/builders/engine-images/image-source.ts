import { randomUUID } from 'node:crypto';
import { type Engine, unlessGone } from '../../docker/docker-engine.js';
import { pullImage } from '../../docker/pull-image.js';
import { BuildError } from '../../failures/explained-errors.js';
import { PullError } from '../../failures/pull-error.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { requestedImage } from '../dockerfile/requested-image.js';
import { packContext } from './build-context.js';
import { buildInEngine, type EngineBuild } from './engine-build.js';

/** Pulls the image with the deployment's digest, labels it, and returns its id. Throws `BuildError`. */
export async function adoptImage(
  engine: Engine,
  request: BuildRequest,
  context: BuildContext,
  build: Omit<EngineBuild, 'context'>,
): Promise<string> {
  const { image, pinned } = requestedImage(request);
  const known = (await unlessGone(engine.calls.getImage(pinned).inspect())) !== undefined;
  await context.log(`Pulls ${pinned}`);
  await pullImage(engine, pinned, { ...context, account: build.accounts.get(image.registry) }).catch((error) => {
    throw error instanceof PullError ? new BuildError(error.message) : error;
  });
  // The image needs a name, because a build cannot start from an id. No tenant can guess this temporary name.
  const [repo, tag] = [`ranvier/${request.serviceId}`, `source-${randomUUID()}`];
  await engine.calls.getImage(pinned).tag({ repo, tag });
  try {
    return await labelImage(engine, `${repo}:${tag}`, context, build);
  } finally {
    if (!known) await unlessGone(engine.calls.getImage(pinned).remove());
  }
}

/** Adds the build's labels to the named image and changes nothing else. Removes the name and returns the new id. */
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
