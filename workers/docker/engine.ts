import Docker from 'dockerode';
import type { Config } from '../../shared/config.js';
import { errorMessage } from '../../shared/errors.js';
import { endStreamsOfTheGone } from './watch.js';

/** A call that the engine does not answer within this time has failed; an engine that hangs must not hang us. */
const CALL_MS = 30_000;
/** An engine that is there answers within this time that it is. */
const LOOK_MS = 5_000;
/** Engine 20.10: the first with process limits for services. */
const OLDEST_API = '1.41';

/** One Docker engine. */
export interface Engine {
  /** For calls with an answer. */
  calls: Docker;
  /** For what streams for as long as it likes: logs, events, builds, pushes. */
  streams: Docker;
  /** As `DOCKER_HOST` has it, for messages. */
  host: string;
}

/** What keeps the platform from working with the engine, in words for who runs it: which variable, what to do. */
export class EngineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EngineError';
  }
}

/** Talks to the engine of `DOCKER_HOST`; connects on demand, so this cannot fail. */
export function connectEngine({ docker: { host } }: Pick<Config, 'docker'>, callMs = CALL_MS): Engine {
  const address = addressOf(host);
  const streams = new Docker(address);
  const looks = bounded(new Docker(address), LOOK_MS);
  endStreamsOfTheGone(streams, () => looks.ping());
  return { calls: bounded(new Docker(address), callMs), streams, host };
}

type Dial = Docker['modem']['dial'];

/**
 * Lets no call wait longer than this. The client's own timeout does not: a call whose answer had begun when its connection
 * broke is never settled by it.
 */
function bounded(docker: Docker, ms: number): Docker {
  const dial: Dial = docker.modem.dial.bind(docker.modem);
  docker.modem.dial = (options, answer) => {
    const end = new AbortController();
    const timer = setTimeout(() => {
      answer?.(new Error(`no answer within ${ms / 1000} s`), null);
      end.abort();
    }, ms);
    const abortSignal = AbortSignal.any([end.signal, ...(options.abortSignal ? [options.abortSignal] : [])]);
    dial({ ...options, abortSignal }, (error, data) => {
      clearTimeout(timer);
      answer?.(error, data);
    });
  };
  return docker;
}

function addressOf(host: string): Docker.DockerOptions {
  if (host.startsWith('unix://')) return { host: '', socketPath: host.slice('unix://'.length) };
  const { hostname, port } = new URL(host);
  return { host: hostname, port };
}

/** Makes sure that the engine answers and is new enough. Throws `EngineError`. */
export async function assertEngine({ calls, host }: Engine): Promise<void> {
  let version: { Version: string; ApiVersion: string };
  try {
    version = await calls.version();
  } catch (error) {
    throw new EngineError(`DOCKER_HOST=${host}: ${unreachable(error)}`);
  }
  if (older(version.ApiVersion, OLDEST_API)) {
    throw new EngineError(
      `DOCKER_HOST=${host}: Docker ${version.Version} (API ${version.ApiVersion}) is too old; upgrade it to 20.10 or newer`,
    );
  }
}

/** Makes sure that the engine manages a swarm, and returns the swarm's id. Throws `EngineError`. */
export async function assertManager({ calls, host }: Engine): Promise<string> {
  const { Swarm: swarm } = await calls.info();
  if (swarm?.ControlAvailable && swarm.Cluster?.ID) return swarm.Cluster.ID;
  const remedy =
    swarm?.LocalNodeState === 'active'
      ? 'it is a worker of a swarm: set DOCKER_HOST to a manager of it, or promote this node with "docker node promote"'
      : 'it is not part of a swarm: run "docker swarm init" there, or set DOCKER_HOST to a swarm manager';
  throw new EngineError(`RUNTIME=swarm needs a swarm manager, but with DOCKER_HOST=${host} ${remedy}`);
}

function unreachable(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'there is no such socket; start Docker, or set DOCKER_HOST to where its engine listens';
    case 'EACCES':
      return 'this user may not open the socket; add it to the group "docker", or run the worker as one who may';
    case 'ECONNREFUSED':
      return 'nothing listens there; start Docker, or set DOCKER_HOST to where its engine listens';
    default:
      return `the Docker engine does not answer (${engineMessage(error)}); set DOCKER_HOST to an engine that does`;
  }
}

/** The engine's own words about what went wrong, without the frame that the client puts around them. */
export function engineMessage(error: unknown): string {
  const said = (error as { json?: { message?: unknown } }).json?.message;
  return typeof said === 'string' ? said.trim() : errorMessage(error);
}

/** The HTTP status that the engine answered with; undefined where it did not answer. */
export function engineStatus(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' ? status : undefined;
}

/** Something of that name is there already; the engine says so in two ways, the second where two asked at once. */
export function isConflict(error: unknown): boolean {
  return engineStatus(error) === 409 || engineMessage(error).includes('name conflicts with an existing object');
}

/** Takes "it is not there" for an answer. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (engineStatus(error) === 404) return undefined;
    throw error;
  }
}

function older(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = than.split('.').map(Number);
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
}
