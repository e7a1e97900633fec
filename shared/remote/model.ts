import { parsedJson } from '../core/json-fields.js';

/** Live access to a replica over a WebSocket. */
export type RemoteKind = 'shell' | 'tunnel';

/** Maximum number of open shells per service and per workspace. */
export const MAX_SHELLS = { service: 5, workspace: 20 };

/** Maximum number of tunnels in use per service, and of connections per tunnel. */
export const MAX_TUNNELS_OF_SERVICE = 20;
export const MAX_TUNNEL_CONNECTIONS = 50;

/** Maximum number of shell and tunnel connections of one API process, per service and per workspace. */
export const MAX_CONNECTIONS = { service: 200, workspace: 500 };

/** Lifetime of a ticket. A shell's ticket can be used once, a tunnel's for many connections. */
export const TICKET_SECONDS: Readonly<Record<RemoteKind, number>> = { shell: 60, tunnel: 12 * 3600 };

/** A shell is closed after this time without data in either direction. */
export const IDLE_MS = 15 * 60_000;

/** Seconds without a sign of life from the API process after which a session counts as closed. */
export const LOST_SECONDS = 15;

const MIB = 1024 * 1024;

export const MAX_MESSAGE_BYTES = MIB;
/**
 * Bytes that are buffered for WebSocket connections. The connections of a process share `total` equally, but each may
 * buffer at least `least` and at most `most`.
 */
const MAX_BUFFERED = { total: 16 * MIB, most: MIB, least: 64 * 1024 };

/** Returns how many bytes a process with this many connections may buffer for each of them. */
export function bufferOf(peers: number): number {
  return Math.max(MAX_BUFFERED.least, Math.min(MAX_BUFFERED.most, Math.floor(MAX_BUFFERED.total / peers)));
}
/** Maximum number of buffered messages per connection. If there are more, the stream that supplies them is paused. */
export const MAX_BUFFERED_MESSAGES = 1_000;

/** Maximum size of a shell recording, in bytes of text. Further output is not recorded. */
export const MAX_RECORDING_BYTES = 4 * MIB;

/** First byte of a binary message to the client of a shell without a terminal. It says which stream follows. */
export const STREAM = { output: 1, error: 2 } as const;

/** WebSocket close codes that the platform uses, in addition to 1000. */
export const CLOSE = {
  goingAway: 1001,
  fault: 1011,
  tryAgain: 1013,
  /** The key or session that opened the connection is no longer valid, or its owner lost the role. */
  accessEnded: 4401,
  /** The replica was stopped, or nothing listens on the port. */
  notFound: 4404,
  idle: 4408,
  tooMany: 4429,
} as const;

export const REPLICA_ENDED = 'the replica has ended';

/** URL path prefix for client connections to an API process: `/api/v1/shells/<ticket>`. */
export const CLIENT_PATHS: Readonly<Record<RemoteKind, string>> = {
  shell: '/api/v1/shells/',
  tunnel: '/api/v1/tunnels/',
};
/** URL path prefix for connections from workers to an API process: `/internal/remote/<connectionId>`. */
export const WORKER_PATH = '/internal/remote/';

/** A notification to the workers of a host. One of them must connect to the API process and send `token`. */
export interface Summons {
  hostId: string;
  sessionId: string;
  connectionId: string;
  /** The base URL of the API process, `http://host:port`. */
  address: string;
  token: string;
}

/** Parses the payload of a notification; null if it is not a summons. */
export function parseSummons(text: string): Summons | null {
  const value: Partial<Record<keyof Summons, unknown>> = parseObject(text) ?? {};
  const { hostId, sessionId, connectionId, address, token } = value;
  if (typeof hostId !== 'string' || typeof sessionId !== 'string' || typeof connectionId !== 'string') return null;
  if (typeof address !== 'string' || typeof token !== 'string') return null;
  return { hostId, sessionId, connectionId, address, token };
}

export interface Size {
  columns: number;
  rows: number;
}

export const MAX_COLUMNS = 1000;
export const MAX_ROWS = 500;

/** A control message, sent as text: `resize` and `eof` to the worker, `exit` and `eof` to the client. */
export type Control = { resize: Size } | { eof: true } | { exit: number };

/** Parses a control message; null if the text is malformed. */
export function parseControl(text: string): Control | null {
  const { resize, eof, exit } = parseObject(text) ?? {};
  if (eof === true) return { eof };
  if (typeof exit === 'number' && Number.isInteger(exit)) return { exit };
  const { columns, rows } = (typeof resize === 'object' && resize !== null ? resize : {}) as Record<string, unknown>;
  return isSize(columns, MAX_COLUMNS) && isSize(rows, MAX_ROWS) ? { resize: { columns, rows } } : null;
}

function isSize(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}

function parseObject(text: string): Record<string, unknown> | null {
  const value = parsedJson(text);
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
}
