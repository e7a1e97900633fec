/** Shells and tunnels: live access to a replica, over a WebSocket (docs/how-to, specification section 8). */
export type RemoteKind = 'shell' | 'tunnel';

/** How many open shells a service and a workspace may have. */
export const MAX_SHELLS = { service: 5, workspace: 20 };

/** How many tunnels of a service may be in use at once, and how many connections one may have. */
export const MAX_TUNNELS_OF_SERVICE = 20;
export const MAX_TUNNEL_CONNECTIONS = 50;

/** How many connections of shells and tunnels one API process takes for a service and for a workspace. */
export const MAX_CONNECTIONS = { service: 200, workspace: 500 };

/** For how long after its issue a ticket can be used, in seconds: a shell's once, a tunnel's for many connections. */
export const TICKET_SECONDS: Readonly<Record<RemoteKind, number>> = { shell: 60, tunnel: 12 * 3600 };

/** A shell ends after this time without a byte in either direction, in milliseconds. */
export const IDLE_MS = 15 * 60_000;

/** A session whose API process has said nothing for this long has ended, in seconds. */
export const LOST_SECONDS = 15;

const MIB = 1024 * 1024;

/** The largest message of a client and of a worker, in bytes. */
export const MAX_MESSAGE_BYTES = MIB;
/** What one process may buffer for all its connections, and for one of them at most and at least, in bytes. */
const MAX_BUFFERED = { total: 16 * MIB, most: MIB, least: 64 * 1024 };

/** Returns how many bytes may wait for each peer of a process with this many. Then its source is paused. */
export function bufferOf(peers: number): number {
  return Math.max(MAX_BUFFERED.least, Math.min(MAX_BUFFERED.most, Math.floor(MAX_BUFFERED.total / peers)));
}
/** A peer that has this many messages to receive gets no more until it has received some. */
export const MAX_BUFFERED_MESSAGES = 1_000;

/** A recording of a shell ends at this size, in bytes of its text. */
export const MAX_RECORDING_BYTES = 4 * MIB;

/** The first byte of a binary message to the client of a shell without a terminal. */
export const STREAM = { output: 1, error: 2 } as const;

/** Codes with which the platform closes a WebSocket, beside 1000. */
export const CLOSE = {
  goingAway: 1001,
  fault: 1011,
  tryAgain: 1013,
  /** The key or the session that opened it has ended, or its owner lost the role. */
  accessEnded: 4401,
  /** The replica is gone, or nothing listens on the port. */
  notFound: 4404,
  idle: 4408,
  tooMany: 4429,
} as const;

/** With `CLOSE.notFound`. */
export const REPLICA_ENDED = 'the replica has ended';

/** The path below which API processes take the connections of clients: `/api/v1/shells/<ticket>`. */
export const CLIENT_PATHS: Readonly<Record<RemoteKind, string>> = {
  shell: '/api/v1/shells/',
  tunnel: '/api/v1/tunnels/',
};
/** The path below which an API process takes a worker's end of a connection. */
export const WORKER_PATH = '/internal/remote/';

/** What an API process tells the workers of a host: who is to connect to it, for which session, and with which proof. */
export interface Summons {
  hostId: string;
  sessionId: string;
  connectionId: string;
  /** `http://host:port` of an API. */
  address: string;
  token: string;
}

/** Returns the summons of a notification; null if it is none. */
export function parseSummons(text: string): Summons | null {
  const value: Partial<Record<keyof Summons, unknown>> = parseObject(text) ?? {};
  const { hostId, sessionId, connectionId, address, token } = value;
  if (typeof hostId !== 'string' || typeof sessionId !== 'string' || typeof connectionId !== 'string') return null;
  if (typeof address !== 'string' || typeof token !== 'string') return null;
  return { hostId, sessionId, connectionId, address, token };
}

/** A size of a terminal, in characters. */
export interface Size {
  columns: number;
  rows: number;
}

export const MAX_COLUMNS = 1000;
export const MAX_ROWS = 500;

/** A text message: to the worker `resize` and `eof`, to the client `exit` and `eof`. */
export type Control = { resize: Size } | { eof: true } | { exit: number };

/** Returns the control message of a text; null if it is none. */
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
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
