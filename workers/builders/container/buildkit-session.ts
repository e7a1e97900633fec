import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import type { Accounts } from '../../docker/credentials.js';
import type { Engine } from '../../docker/engine.js';
import { readFields } from './protobuf.js';

/** What BuildKit may ask of who builds, over a connection of its own while the build runs. */
export interface BuildkitSession {
  id: string;
  close(): void;
}

const CREDENTIALS = '/moby.filesync.v1.Auth/Credentials';
const HEALTH = '/grpc.health.v1.Health/Check';
/** `status: SERVING` */
const SERVING = Buffer.from([0x08, 0x01]);
/** Docker Hub asks by the name of its registry's host. */
const HUB = /^(registry-1|index|auth)\.docker\.io$/;

/**
 * Opens a session that answers for the accounts and says that it lives. The client's own session gives one account to
 * every registry that asks, answers no health check, and stays open where a build is cancelled.
 */
export async function openBuildkitSession({ streams }: Engine, accounts: Accounts): Promise<BuildkitSession> {
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
          'X-Docker-Expose-Session-Grpc-Method': [CREDENTIALS, HEALTH],
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
    { credentials: method(CREDENTIALS), health: method(HEALTH) },
    {
      credentials: answer((request) => credentialsOf(accounts, request)),
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

function answer(respond: (request: Buffer) => Buffer) {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
    callback(null, respond(call.request));
}

/** `CredentialsRequest { Host = 1 }` → `CredentialsResponse { Username = 1, Secret = 2 }`, empty where there is none. */
function credentialsOf(accounts: Accounts, request: Buffer): Buffer {
  const host = [...readFields(request)].find((field) => field.number === 1);
  const name = host && 'bytes' in host ? host.bytes.toString() : '';
  const account = accounts.get(HUB.test(name) ? 'docker.io' : name);
  if (!account) return Buffer.alloc(0);
  return Buffer.concat([stringField(1, account.username), stringField(2, account.password)]);
}

function stringField(number: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>>= 7) length.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, left]), bytes]);
}
