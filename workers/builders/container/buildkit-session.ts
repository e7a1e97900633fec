import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import type { Accounts } from '../../docker/credentials.js';
import type { Engine } from '../../docker/engine.js';
import { readFields } from './protobuf.js';

/** What BuildKit may ask of who builds, over a connection of its own while the build runs. */
export interface BuildkitSession {
  id: string;
  close(): void;
}

const CREDENTIALS = '/moby.filesync.v1.Auth/Credentials';
const SECRET = '/moby.buildkit.secrets.v1.Secrets/GetSecret';
const HEALTH = '/grpc.health.v1.Health/Check';
/** `status: SERVING` */
const SERVING = Buffer.from([0x08, 0x01]);
/** Docker Hub asks by the name of its registry's host. */
const HUB = /^(registry-1|index|auth)\.docker\.io$/;

/** What a build may ask for. */
export interface SessionOffer {
  /** For base images. */
  accounts: Accounts;
  /** Secret mounts: id → value. They enter neither layers nor history nor cache keys. */
  secrets: Readonly<Record<string, string>>;
}

/**
 * Opens a session that answers for accounts and secrets and says that it lives. The client's own session gives one account to
 * every registry that asks, answers no health check, and stays open where a build is cancelled.
 */
export async function openBuildkitSession(
  { streams }: Engine,
  { accounts, secrets }: SessionOffer,
): Promise<BuildkitSession> {
  const id = randomUUID();
  const socket = await new Promise<Duplex>((resolve, reject) => {
    streams.modem.dial(
      {
        path: '/session',
        method: 'POST',
        hijack: true,
        headers: {
          Upgrade: 'h2c',
          'X-Docker-Expose-Session-Uuid': id,
          'X-Docker-Expose-Session-Name': 'ranvier',
          'X-Docker-Expose-Session-Grpc-Method': [CREDENTIALS, SECRET, HEALTH],
        },
        statusCodes: { 200: true, 500: 'server error' },
      },
      (error: unknown, opened: unknown) => (error ? reject(error) : resolve(opened as Duplex)),
    );
  });
  // The engine may break off; the build itself tells what that means for it.
  socket.on('error', () => {});
  const server = new Server();
  server.addService(
    { credentials: method(CREDENTIALS), secret: method(SECRET), health: method(HEALTH) },
    {
      credentials: answer((request) => credentialsOf(accounts, request)),
      secret: answer((request) => secretOf(secrets, request)),
      health: answer(() => SERVING),
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

function method(path: string) {
  const asIs = (bytes: Buffer) => bytes;
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}

/** Null says that there is no such thing. */
function answer(respond: (request: Buffer) => Buffer | null) {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
    const response = respond(call.request);
    if (response !== null) callback(null, response);
    else callback({ code: status.NOT_FOUND, details: 'the service has no such variable' });
  };
}

/** `GetSecretRequest { ID = 1 }` → `GetSecretResponse { data = 1 }`. */
function secretOf(secrets: SessionOffer['secrets'], request: Buffer): Buffer | null {
  const id = firstText(request);
  return Object.hasOwn(secrets, id) ? textField(1, secrets[id] ?? '') : null;
}

/** `CredentialsRequest { Host = 1 }` → `CredentialsResponse { Username = 1, Secret = 2 }`, empty where there is none. */
function credentialsOf(accounts: Accounts, request: Buffer): Buffer {
  const name = firstText(request);
  const account = accounts.get(HUB.test(name) ? 'docker.io' : name);
  if (!account) return Buffer.alloc(0);
  return Buffer.concat([textField(1, account.username), textField(2, account.password)]);
}

function firstText(request: Buffer): string {
  const field = [...readFields(request)].find(({ number }) => number === 1);
  return field && 'bytes' in field ? field.bytes.toString() : '';
}

function textField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>>= 7) length.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, left]), bytes]);
}
