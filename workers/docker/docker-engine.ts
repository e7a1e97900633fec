import Docker from 'dockerode';
import semver from 'semver';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { closeStreamsOfLostEngine } from './engine-watch.js';

/** Without this timeout, an engine that hangs would block the worker. */
const CALL_MS = 30_000;
const CHECK_TIMEOUT_MS = 5_000;
/** The API version of Docker 20.10, which introduced process limits for services. */
const OLDEST_API = '1.41.0';

export interface Engine {
  /** For calls with a single response. These calls have a timeout. */
  calls: Docker;
  /** For streams, which have no timeout: logs, events, builds, pushes. */
  streams: Docker;
  /** The value of `DOCKER_HOST`, for messages. */
  host: string;
}

/** Tells the operator why the platform cannot use the engine, and what to do. */
export class EngineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EngineError';
  }
}

/** Creates a client for the engine at `DOCKER_HOST`. The client connects on its first call. */
export function connectEngine({ docker: { host } }: Pick<Config, 'docker'>, callMs = CALL_MS): Engine {
  const address = addressOf(host);
  const streams = new Docker(address);
  const pings = bounded(new Docker(address), CHECK_TIMEOUT_MS);
  closeStreamsOfLostEngine(streams, () => pings.ping());
  return { calls: bounded(new Docker(address), callMs), streams, host };
}

type Dial = Docker['modem']['dial'];

/**
 * Sets a timeout for every call. The client's own timeout does not suffice: a call whose connection breaks during the
 * response never settles.
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

export type SocketAddress = { path: string } | { host: string; port: number };

const UNIX = 'unix://';

/** Parses `unix:///path` or `tcp://host:port`. The configuration has validated the address. */
export function socketAddress(address: string): SocketAddress {
  if (address.startsWith(UNIX)) return { path: address.slice(UNIX.length) };
  const { hostname, port } = new URL(address);
  return { host: hostname, port: Number(port) };
}

function addressOf(host: string): Docker.DockerOptions {
  const address = socketAddress(host);
  return 'path' in address ? { host: '', socketPath: address.path } : address;
}

/** Verifies that the engine responds and is new enough. Throws `EngineError`. */
export async function assertEngine({ calls, host }: Engine): Promise<void> {
  let version: { Version: string; ApiVersion: string };
  try {
    version = await calls.version();
  } catch (error) {
    throw new EngineError(`DOCKER_HOST=${host}: ${unreachable(error)}`);
  }
  if (semver.lt(semver.coerce(version.ApiVersion) ?? OLDEST_API, OLDEST_API)) {
    throw new EngineError(
      `DOCKER_HOST=${host}: Docker ${version.Version} (API ${version.ApiVersion}) is too old; upgrade it to 20.10 or newer`,
    );
  }
}

/** Verifies that the engine manages a swarm, and returns the swarm's id. Throws `EngineError`. */
export async function assertManager({ calls, host }: Engine): Promise<string> {
  const { Swarm: swarm } = await calls.info();
  if (swarm?.ControlAvailable && swarm.Cluster?.ID) return swarm.Cluster.ID;
  const remedy =
    swarm?.LocalNodeState === 'active'
      ? 'it is a worker of a swarm: set DOCKER_HOST to a manager of it, or promote this node with "docker node promote"'
      : 'it is not part of a swarm: run "docker swarm init" there, or set DOCKER_HOST to a swarm manager';
  throw new EngineError(`RUNTIME=swarm needs a swarm manager, but with DOCKER_HOST=${host} ${remedy}`);
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such socket; start Docker, or set DOCKER_HOST to where its engine listens',
  EACCES: 'this user may not open the socket; add it to the group "docker", or run the worker as one who may',
  ECONNREFUSED: 'nothing listens there; start Docker, or set DOCKER_HOST to where its engine listens',
};

function unreachable(error: unknown): string {
  const known = UNREACHABLE[(error as NodeJS.ErrnoException).code ?? ''];
  return known ?? `the Docker engine does not answer (${engineMessage(error)}); set DOCKER_HOST to an engine that does`;
}

/** Returns the engine's message about a failure, without the text that the client adds. */
export function engineMessage(error: unknown): string {
  const said = (error as { json?: { message?: unknown } }).json?.message;
  return typeof said === 'string' ? said.trim() : errorMessage(error);
}

/** Sends a POST that the engine's client has no function for. Returns the stream of the response. */
export function postForStream<S>({ streams }: Pick<Engine, 'streams'>, request: Parameters<Dial>[0]): Promise<S> {
  const options = { ...request, method: 'POST', statusCodes: { 200: true, 500: 'server error' } };
  return new Promise((resolve, reject) => {
    streams.modem.dial(options, (error: unknown, answer: unknown) => (error ? reject(error) : resolve(answer as S)));
  });
}

/** Returns the HTTP status of the engine's response; undefined if there was no response. */
export function engineStatus(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown }).statusCode;
  return typeof status === 'number' ? status : undefined;
}

/**
 * Returns true if the engine understood the request and would refuse it again. An engine that has just started has not
 * joined its swarm yet, and refuses requests that it accepts a moment later.
 */
export function isRefusal(error: unknown): boolean {
  const status = engineStatus(error);
  return status !== undefined && status < 500 && !engineMessage(error).includes('swarm is not active');
}

/** Returns true if the name is already in use. After two simultaneous creations, the status may not be 409. */
export function isConflict(error: unknown): boolean {
  return engineStatus(error) === 409 || engineMessage(error).includes('name conflicts with an existing object');
}

/** Resolves to the result of `work`, or to undefined if the engine responds with 404. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (engineStatus(error) === 404) return undefined;
    throw error;
  }
}
