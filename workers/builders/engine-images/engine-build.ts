import { createHash, createHmac } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Sensitive } from '../../../shared/core/sensitive.js';
import { type Engine, postForStream } from '../../docker/docker-engine.js';
import { type Accounts, registryconfig } from '../../docker/registry-accounts.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { BuildContext } from '../builder.js';
import { CommandOutput } from '../steps/command-output.js';
import { explainBuild } from './build-failure.js';
import { followBuild } from './build-stream.js';
import { type BuildkitSession, openBuildkitSession } from './buildkit-session.js';

/** A build by the engine's BuildKit; the legacy builder is never used (see `assertBuildkit`). */
export interface EngineBuild {
  /** The build context as a tar stream. The build reads it completely, or destroys it. */
  context: Readable;
  /** The Dockerfile's path in the context. */
  dockerfile: string;
  /** The stage that is built; '' for the last one. */
  target: string;
  /** The origin of the base images' names, for messages: `the Dockerfile`, `BASE_IMAGES` or `the service`. */
  origin: string;
  buildArgs: Readonly<Record<string, string>>;
  /** Secrets that commands may mount: id → value. */
  secrets: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  noCache: boolean;
  /** Registry credentials, with which base images are pulled. */
  accounts: Accounts;
  /** The namespace of the caches that commands mount. No build can name a cache of another namespace. */
  cacheNamespace: string;
  memoryMb: number;
}

/** Maximum total size of the build arguments. They become part of a URL, and engines refuse longer URLs. */
const MAX_ARGUMENT_BYTES = 512 * 1024;
/** Build arguments that change how BuildKit itself works, such as its frontend. */
const RESERVED = /^BUILDKIT_/i;

/** Builds one image and returns its id. An abort also stops the build in the engine. Throws `BuildError`. */
export async function buildInEngine(engine: Engine, build: EngineBuild, context: BuildContext): Promise<string> {
  const output = new CommandOutput(context);
  let session: BuildkitSession | undefined;
  // Set if a file of the context cannot be packed. The engine's request then fails too, but without the cause.
  let unpackable: unknown;
  build.context.on('error', (error) => {
    unpackable ??= error;
  });
  const { hasSubmodules } = context;
  const facts = { phase: 'build', memoryMb: build.memoryMb, hasSubmodules } as const;
  const explained = (error: unknown) => explainBuild(error, build, output.cause(), output.advice(facts));
  try {
    assertArgumentsFit(build);
    session = await openBuildkitSession(engine, build);
    const stream = await startBuild(engine, build, session.id, context.signal);
    const { imageId, error } = await followBuild(stream, {
      onLine: (line) => output.write(line),
      ...(context.masker ? { cutter: context.masker } : {}),
    });
    await output.close();
    if (error !== null) throw explained(error);
    if (imageId === null)
      throw new BuildError('the engine ended the build without an image and without a reason; deploy again');
    return imageId;
  } catch (error) {
    context.signal.throwIfAborted();
    throw unpackable instanceof BuildError ? unpackable : explained(error);
  } finally {
    build.context.destroy();
    session?.close();
  }
}

/** Returns the namespace of a service's caches. It is derived from a secret, so that no tenant can guess it. */
export function cacheNamespace(secretsKey: Sensitive, serviceId: string): string {
  return createHmac('sha256', secretsKey.reveal()).update(`build caches of ${serviceId}`).digest('hex').slice(0, 40);
}

/**
 * Returns a host name that becomes part of the cache key of a build's layers. Otherwise, services of different tenants
 * would share layers, because the key leaves out what a command reads from secrets and proxies.
 */
function layerMark(namespace: string): string {
  return `cache-${createHash('sha256').update(namespace).digest('hex').slice(0, 40)}.invalid`;
}

function assertArgumentsFit({ buildArgs }: EngineBuild): void {
  const bytes = encodeURIComponent(JSON.stringify(buildArgs)).length;
  if (bytes <= MAX_ARGUMENT_BYTES) return;
  const [is, most] = [bytes, MAX_ARGUMENT_BYTES].map((size) => Math.ceil(size / 1024));
  throw new BuildError(
    `the service's variables have ${is} KiB as build arguments; an engine takes ${most}; remove variables, or make them shorter`,
  );
}

function startBuild(engine: Engine, build: EngineBuild, session: string, signal: AbortSignal): Promise<Readable> {
  const given = Object.entries(build.buildArgs).filter(([name]) => !RESERVED.test(name));
  const options = {
    dockerfile: build.dockerfile,
    ...(build.target ? { target: build.target } : {}),
    buildargs: { ...Object.fromEntries(given), BUILDKIT_CACHE_MOUNT_NS: build.cacheNamespace },
    extrahosts: `${layerMark(build.cacheNamespace)}:127.0.0.1`,
    labels: build.labels,
    rm: true,
    forcerm: true,
    ...(build.noCache ? { nocache: true } : {}),
    version: '2',
    session,
  };
  return postForStream(engine, {
    path: '/build?',
    file: build.context,
    options,
    registryconfig: registryconfig(build.accounts),
    abortSignal: signal,
    isStream: true,
  });
}
