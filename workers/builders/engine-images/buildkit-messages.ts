import protobuf from 'protobufjs';

/** BuildKit's protobuf messages that the platform reads or writes, with only the fields that it uses. */
const { root } = protobuf.parse(`
  syntax = "proto3";

  // moby.buildkit.v1.StatusResponse
  message Status { repeated Vertex vertexes = 1; repeated VertexLog logs = 3; }
  message Vertex {
    string digest = 1; string name = 3; bool cached = 4; Timestamp started = 5; Timestamp completed = 6;
  }
  message Timestamp {}
  message VertexLog { string vertex = 1; bytes msg = 4; }

  // moby.filesync.v1.Auth
  message CredentialsRequest { string host = 1; }
  message CredentialsResponse { string username = 1; string secret = 2; }

  // moby.buildkit.secrets.v1.Secrets
  message SecretRequest { string id = 1; }
  message SecretResponse { bytes data = 1; }

  // grpc.health.v1.Health
  message HealthRequest {}
  message HealthResponse { enum ServingStatus { UNKNOWN = 0; SERVING = 1; } ServingStatus status = 1; }
`);

/** Encodes and decodes messages of one type. `decode` throws an `Error` for bytes that are no message of this type. */
export interface MessageType<T> {
  encode(message: T): Buffer;
  decode(bytes: Uint8Array): T;
}

function messageType<T extends object>(name: string): MessageType<T> {
  const type = root.lookupType(name);
  return {
    encode: (message) => Buffer.from(type.encode(type.fromObject(message)).finish()),
    decode: (bytes) => type.toObject(type.decode(bytes), { defaults: true, arrays: true }) as T,
  };
}

/** The state of one build step. BuildKit sends it again each time the step changes. */
export interface Vertex {
  digest: string;
  name: string;
  cached: boolean;
  /** Null until the step has started. */
  started: object | null;
  completed: object | null;
}

/** A chunk of a step's output. It may begin and end within a line. */
export interface VertexLog {
  vertex: string;
  msg: Uint8Array;
}

export const Status = messageType<{ vertexes: Vertex[]; logs: VertexLog[] }>('Status');
export const CredentialsRequest = messageType<{ host: string }>('CredentialsRequest');
export const CredentialsResponse = messageType<{ username?: string; secret?: string }>('CredentialsResponse');
export const SecretRequest = messageType<{ id: string }>('SecretRequest');
export const SecretResponse = messageType<{ data: Uint8Array }>('SecretResponse');
export const HealthRequest = messageType<object>('HealthRequest');
export const HealthResponse = messageType<{ status: 'SERVING' }>('HealthResponse');
