import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { type Engine, postForStream } from '../../docker/docker-engine.js';
import type { Accounts } from '../../docker/registry-accounts.js';
import {
  CredentialsRequest,
  CredentialsResponse,
  HealthRequest,
  HealthResponse,
  type MessageType,
  SecretRequest,
  SecretResponse,
} from './buildkit-messages.js';

/** A connection over which BuildKit requests registry credentials and secrets for a running build. */
export interface BuildkitSession {
  id: string;
  close(): void;
}

const CREDENTIALS = '/moby.filesync.v1.Auth/Credentials';
const SECRET = '/moby.buildkit.secrets.v1.Secrets/GetSecret';
const HEALTH = '/grpc.health.v1.Health/Check';
/** The host names under which BuildKit asks for the credentials of Docker Hub. */
const HUB = /^(registry-1|index|auth)\.docker\.io$/;

export interface SessionOffer {
  accounts: Accounts;
  /** Secret mounts: id → value. They do not become part of layers, history or cache keys. */
  secrets: Readonly<Record<string, string>>;
}

/**
 * Opens a session that responds to requests for credentials and secrets, and to health checks. The session of the
 * Docker client (dockerode) would send the same credentials to every registry, and stay open after a cancelled build.
 */
export async function openBuildkitSession(
  engine: Engine,
  { accounts, secrets }: SessionOffer,
): Promise<BuildkitSession> {
  const id = randomUUID();
  const socket = await postForStream<Duplex>(engine, {
    path: '/session',
    hijack: true,
    headers: {
      Upgrade: 'h2c',
      'X-Docker-Expose-Session-Uuid': id,
      'X-Docker-Expose-Session-Name': 'ranvier',
      'X-Docker-Expose-Session-Grpc-Method': [CREDENTIALS, SECRET, HEALTH],
    },
  });
  // Errors are ignored: if the engine closes the connection, the build's own stream reports it.
  socket.on('error', () => {});
  const server = new Server();
  server.addService(
    {
      credentials: method(CREDENTIALS, CredentialsRequest, CredentialsResponse),
      secret: method(SECRET, SecretRequest, SecretResponse),
      health: method(HEALTH, HealthRequest, HealthResponse),
    },
    {
      credentials: answer(({ host }: { host: string }) => credentialsOf(accounts, host)),
      secret: answer(({ id: name }: { id: string }) => secretOf(secrets, name)),
      health: answer(() => ({ status: 'SERVING' as const })),
    },
  );
  server.createConnectionInjector(ServerCredentials.createInsecure()).injectConnection(socket);
  return {
    id,
    close: () => {
      server.forceShutdown();
      socket.destroy();
    },
  };
}

function method<Q, A>(path: string, request: MessageType<Q>, response: MessageType<A>): MethodDefinition<Q, A> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: request.encode,
    requestDeserialize: request.decode,
    responseSerialize: response.encode,
    responseDeserialize: response.decode,
  };
}

/** Returns a handler that responds with the result of `respond`, or with NOT_FOUND if that is null. */
function answer<Q, A>(respond: (request: Q) => A | null) {
  return (call: ServerUnaryCall<Q, A>, callback: sendUnaryData<A>) => {
    const response = respond(call.request);
    if (response !== null) callback(null, response);
    else callback({ code: status.NOT_FOUND, details: 'the service has no such variable' });
  };
}

function secretOf(secrets: SessionOffer['secrets'], id: string): { data: Buffer } | null {
  return Object.hasOwn(secrets, id) ? { data: Buffer.from(secrets[id] ?? '') } : null;
}

/** Returns an empty response if there are no credentials: BuildKit then uses the registry anonymously. */
function credentialsOf(accounts: Accounts, host: string): { username?: string; secret?: string } {
  const account = accounts.get(HUB.test(host) ? 'docker.io' : host);
  return account === undefined ? {} : { username: account.username, secret: account.password };
}
