import type { Readable } from 'node:stream';
import { type Engine, EngineError, engineMessage, postForStream } from '../../docker/docker-engine.js';
import { readEvents } from '../../docker/engine-events.js';
import { packContext } from './build-context.js';

/** The Dockerfile of a test build. BuildKit refuses it as invalid, so the test leaves nothing behind in the engine. */
const DOCKERFILE = 'FROM scratch\nNOTHING\n';
/** An engine that is busy or was just started may not answer the first attempts in time. */
const TRIES = 4;
const PATIENCE_MS = 30_000;

/**
 * Verifies that the engine builds with BuildKit. Throws `EngineError`. The legacy builder accepts a few hex digits as
 * an image's id, which may be the id of another tenant's image.
 */
export async function assertBuildkit(engine: Engine): Promise<void> {
  const { host } = engine;
  for (let tries = 1; tries <= TRIES; tries++) {
    const context = packContext({ folders: [], files: { Dockerfile: DOCKERFILE } });
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const problem = await tryBuild(engine, context, patience).catch((error: unknown) => engineMessage(error));
    context.destroy();
    if (problem === null) return;
    if (patience.aborted) continue;
    throw new EngineError(
      `RUNTIME=swarm needs an engine that builds with BuildKit, and the one at DOCKER_HOST=${host} does not (${problem}); ` +
        'upgrade Docker to 23.0 or newer, or enable BuildKit in its configuration ("features": { "buildkit": true })',
    );
  }
  throw new EngineError(
    `the engine at DOCKER_HOST=${host} did not answer a build in ${TRIES} tries of ${PATIENCE_MS / 1000} s; ` +
      'look at its log and at the load of its host, and start the worker again',
  );
}

/** Returns null if BuildKit handles the build, otherwise the reason for the failure. */
async function tryBuild(engine: Engine, context: Readable, signal: AbortSignal): Promise<string | null> {
  const options = { version: '2', dockerfile: 'Dockerfile' };
  const request = { path: '/build?', file: context, options, abortSignal: signal, isStream: true };
  const stream = await postForStream<Readable>(engine, request);
  let said = 'it reports no build';
  for await (const event of readEvents(stream)) {
    if (event.id === 'moby.buildkit.trace') return null;
    said = event.error ?? said;
  }
  return said;
}
