import type { Readable } from 'node:stream';
import { type Accounts, registryconfig } from '../../docker/credentials.js';
import type { Engine } from '../../docker/engine.js';
import { CommandOutput } from '../build-log.js';
import { type BuildContext, BuildError } from '../builder.js';
import { followBuild } from './build-stream.js';
import { type BuildkitSession, openBuildkitSession } from './buildkit-session.js';
import { explainBuild } from './explain.js';

/** The engine's two builders. Only BuildKit keeps caches for commands; only the classic one bounds memory and CPU. */
export type BuilderKind = 'buildkit' | 'classic';

export interface EngineBuild {
  kind: BuilderKind;
  /** The context as tar; read to its end or destroyed. */
  context: Readable;
  /** Below the context. */
  dockerfile: string;
  /** What errors call the base images' origin: the Dockerfile, or the platform's setting. */
  origin: string;
  buildArgs: Readonly<Record<string, string>>;
  /** What commands may mount as secrets; BuildKit alone has them. */
  secrets: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  noCache: boolean;
  /** For base images. */
  accounts: Accounts;
  memoryMb: number;
  cpu: number;
}

/** A URL carries the arguments; an engine reads no longer one. */
const MOST_ARGUMENT_BYTES = 512 * 1024;
const CPU_PERIOD = 100_000;

/**
 * Builds one image and returns its id. Output goes to the log; `context.signal` ends the build in the engine too. Throws
 * `BuildError` naming the command and what it said.
 */
export async function buildInEngine(engine: Engine, build: EngineBuild, context: BuildContext): Promise<string> {
  const output = new CommandOutput(context);
  let session: BuildkitSession | null = null;
  // What cannot be packed ends the request; this is why.
  let unpackable: unknown;
  build.context.on('error', (error) => {
    unpackable ??= error;
  });
  try {
    assertArgumentsFit(build);
    if (build.kind === 'buildkit') session = await openBuildkitSession(engine, build);
    const stream = await startBuild(engine, build, session?.id, context.signal);
    const { imageId, error } = await followBuild(stream, {
      onLine: (line) => output.write(line),
      ...(context.masker ? { cutter: context.masker } : {}),
    });
    await output.close();
    if (error !== null) throw explainBuild(error, build, output.cause());
    if (imageId === null) throw new BuildError('the engine ended the build without an image and without a reason');
    return imageId;
  } catch (error) {
    context.signal.throwIfAborted();
    throw unpackable instanceof BuildError ? unpackable : explainBuild(error, build, output.cause());
  } finally {
    build.context.destroy();
    session?.close();
  }
}

function assertArgumentsFit({ buildArgs }: EngineBuild): void {
  const bytes = encodeURIComponent(JSON.stringify(buildArgs)).length;
  if (bytes <= MOST_ARGUMENT_BYTES) return;
  const [is, most] = [bytes, MOST_ARGUMENT_BYTES].map((size) => Math.ceil(size / 1024));
  throw new BuildError(`the service's variables have ${is} KiB as build arguments; an engine takes ${most}`);
}

function startBuild(
  { streams }: Engine,
  build: EngineBuild,
  session: string | undefined,
  signal: AbortSignal,
): Promise<Readable> {
  const limits = {
    memory: build.memoryMb * 1024 ** 2,
    memswap: build.memoryMb * 1024 ** 2,
    cpuperiod: CPU_PERIOD,
    cpuquota: Math.round(build.cpu * CPU_PERIOD),
  };
  const options = {
    dockerfile: build.dockerfile,
    buildargs: build.buildArgs,
    labels: build.labels,
    rm: true,
    forcerm: true,
    ...(build.noCache ? { nocache: true } : {}),
    ...(session === undefined ? { version: '1', ...limits } : { version: '2', session }),
  };
  return new Promise((resolve, reject) => {
    streams.modem.dial(
      {
        path: '/build?',
        method: 'POST',
        file: build.context,
        options,
        registryconfig: registryconfig(build.accounts),
        abortSignal: signal,
        isStream: true,
        statusCodes: { 200: true, 500: 'server error' },
      },
      (error: unknown, stream: unknown) => (error ? reject(error) : resolve(stream as Readable)),
    );
  });
}
