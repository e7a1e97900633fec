import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { lazily } from '../../shared/core/lazily.js';
import type { Logger } from '../../shared/core/log.js';
import { CLIENT_PATHS, CLOSE, MAX_MESSAGE_BYTES, parseControl, WORKER_PATH } from '../../shared/remote/model.js';
import { insertRecordingPart } from '../../shared/remote/recording-store.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import { hashToken, isToken } from '../../shared/secrets/random-token.js';
import { clientAddress } from '../http/client-identity.js';
import { causeOfEnd, type EndCause, reasonOfEnd } from './ends.js';
import { OpenPlaces } from './open-places.js';
import { Recording } from './recording.js';
import { relay } from './relay.js';
import { Rendezvous } from './rendezvous.js';
import {
  closeTunnel,
  endShell,
  lostShells,
  noteTunnelUse,
  sessionsWithoutAccess,
  takeTicket,
  touchSessions,
} from './session-store.js';
import { TunnelTraffic } from './tunnel-traffic.js';
import { TunnelUses } from './tunnel-uses.js';

/** Milliseconds between checks of access. A revoked key closes its sessions within two seconds. */
const WATCH_MS = 1_000;
/**
 * Numbers of access checks: between two updates of `seen_at`, and between two searches for shells of dead API
 * processes.
 */
const LOOKS_PER_TOUCH = 5;
const LOOKS_PER_SEARCH = 15;
/** All sessions are closed if this many consecutive access checks fail because the database does not answer. */
const MAX_FAILED_LOOKS = 15;
/** Milliseconds between pings, which keep idle connections open: proxies close connections without traffic. */
const PING_MS = 25_000;
/** How long a client may take to read why its connection is closed. */
const LINGER_MS = 1_000;

/** Maximum number of unknown tickets that a client may send per minute. */
const MAX_MISSES = 60;

const ENDING: EndCause = { code: CLOSE.goingAway, reason: 'the API process ended' };
const NO_WORKER: EndCause = { code: CLOSE.tryAgain, reason: 'no worker of the host answers' };
const NO_DATABASE: EndCause = { code: CLOSE.goingAway, reason: 'the database does not answer' };

interface Connection {
  session: RemoteSessionRow;
  client: WebSocket;
  worker: WebSocket | null;
  /** When data was last received from either side, in milliseconds since 1970. */
  activeAt: number;
  exitCode: number | null;
  /** Why the platform closed the connection; null if the program or the client did. */
  cause: EndCause | null;
  recording: Recording | null;
  leaving: AbortController;
}

/** Accepts clients' WebSockets for shells and tunnels, and relays them to a worker on the replica's host. */
export class RemoteAccess {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #behindProxy: boolean;
  readonly #rendezvous: Rendezvous;
  readonly #connections = new Set<Connection>();
  readonly #uses = new TunnelUses((session, facts) => this.#record(noteTunnelUse(this.#db, session, { ...facts })));
  readonly #places = new OpenPlaces();
  /** Counts unknown tickets by client, because each one costs a database write. */
  readonly #misses = new RateLimiterMemory({ points: MAX_MISSES, duration: 60 });
  readonly #traffic: TunnelTraffic;
  readonly #ends = new Set<Promise<void>>();
  /** Created for the first connection, because most API processes have none for a long time. */
  readonly #sockets = lazily(() => {
    const { WebSocketServer: Server } = createRequire(import.meta.url)('ws') as {
      WebSocketServer: typeof WebSocketServer;
    };
    return new Server({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false });
  });
  readonly #timers: NodeJS.Timeout[];
  #looks = 0;
  #failedLooks = 0;
  #closed = false;

  constructor({ db, log, address, behindProxy }: { db: Db; log: Logger; address: string; behindProxy: boolean }) {
    this.#db = db;
    this.#traffic = new TunnelTraffic(db);
    this.#behindProxy = behindProxy;
    this.#log = log;
    this.#rendezvous = new Rendezvous(db, address);
    this.#timers = [setInterval(() => void this.#watch(), WATCH_MS), setInterval(() => this.#ping(), PING_MS)];
    for (const timer of this.#timers) timer.unref();
  }

  /** Handles a request to upgrade the connection to a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#upgrade(request, socket, head).catch((error: unknown) => {
      this.#log.warn({ err: error }, `a WebSocket was refused: ${errorMessage(error)}`);
      refuse(socket, '503 Service Unavailable');
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#connections) {
      end(connection, ENDING);
      // Recorded now, because the connection's close events may come only after this process has exited.
      this.#ended(connection, null);
    }
    this.#uses.close();
    this.#record(this.#traffic.report());
    await Promise.all(this.#ends);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (this.#closed) return refuse(socket, '503 Service Unavailable');
    if (path.startsWith(WORKER_PATH)) return this.#admitWorker(path.slice(WORKER_PATH.length), request, socket, head);
    const kind = (['shell', 'tunnel'] as const).find((each) => path.startsWith(CLIENT_PATHS[each]));
    if (kind === undefined) return refuse(socket, '404 Not Found');
    const ticket = path.slice(CLIENT_PATHS[kind].length);
    if (!isToken(ticket)) return refuse(socket, '404 Not Found');
    const ticketHash = hashToken(ticket);
    const address = clientAddress(request, this.#behindProxy);
    const missed = (await this.#misses.get(address))?.consumedPoints ?? 0;
    if (missed >= MAX_MISSES) return refuse(socket, '429 Too Many Requests');
    const session = await takeTicket(this.#db, { kind, ticketHash, address });
    if (session === null) {
      await this.#misses.penalty(address);
      return refuse(socket, '404 Not Found');
    }
    // A closed socket must not take a place: no further close event may follow, so nothing would release the place.
    if (socket.destroyed) return;
    const leave = this.#places.take(session);
    if (leave === null) return refuse(socket, '429 Too Many Requests');
    socket.once('close', leave);
    const lostAccess = (await sessionsWithoutAccess(this.#db, [session.id])).get(session.id);
    if (lostAccess !== undefined) {
      await this.#close(session, lostAccess, null);
      return refuse(socket, '403 Forbidden');
    }
    this.#sockets().handleUpgrade(request, socket, head, (client) => void this.#connect(session, client));
    // If the handshake fails, `handleUpgrade` closes the socket, so it need not be closed here.
  }

  #admitWorker(connectionId: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const [, token = ''] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
    const arrive = this.#rendezvous.admit(connectionId, token);
    if (arrive === null) {
      refuse(socket, '404 Not Found');
      return;
    }
    this.#sockets().handleUpgrade(request, socket, head, (worker) => {
      worker.on('error', () => worker.terminate());
      worker.pause();
      arrive(worker);
    });
  }

  async #connect(session: RemoteSessionRow, client: WebSocket): Promise<void> {
    const leaving = new AbortController();
    const connection: Connection = {
      session,
      client,
      leaving,
      worker: null,
      activeAt: Date.now(),
      exitCode: null,
      cause: null,
      recording: this.#recordingOf(session),
    };
    this.#connections.add(connection);
    if (session.kind === 'tunnel') this.#uses.begin(session);
    client.on('error', () => client.terminate());
    client.once('close', () => {
      leaving.abort();
      this.#ended(connection, null);
    });
    // The client's messages must wait for the worker. They use no memory, because the socket is not read meanwhile.
    client.pause();
    const worker = await this.#rendezvous.worker(session, leaving.signal);
    if (worker === null) return end(connection, NO_WORKER);
    if (leaving.signal.aborted || connection.cause !== null) return worker.terminate();
    connection.worker = worker;
    const { recording } = connection;
    if (recording !== null) client.send(recordedNotice(session));
    relay(client, worker, {
      merges: session.kind === 'tunnel',
      onRequest: (data, isBinary) => {
        connection.activeAt = Date.now();
        if (recording !== null && !isBinary) {
          const control = parseControl(data.toString('utf8'));
          if (control !== null && 'resize' in control) recording.resize(control.resize, connection.activeAt);
        }
        this.#uses.count(session.id, 'bytesToService', data.length);
      },
      onAnswer: (data, isBinary) => {
        connection.activeAt = Date.now();
        if (isBinary && recording !== null) {
          recording.output(data, connection.activeAt);
          if (recording.isDue) this.#store(recording);
        }
        if (isBinary && session.kind === 'tunnel') {
          this.#uses.count(session.id, 'bytesToClient', data.length);
          this.#traffic.count(session.service_id, data.length);
        }
        const control = isBinary ? null : parseControl(data.toString('utf8'));
        if (control !== null && 'exit' in control) connection.exitCode = control.exit;
      },
      onEnd: (closed) => this.#ended(connection, closed),
    });
  }

  /** Records the end of a connection once, as soon as either side has closed. */
  #ended(connection: Connection, worker: Parameters<typeof reasonOfEnd>[1]): void {
    if (!this.#connections.delete(connection)) return;
    const { session, exitCode, cause } = connection;
    const reason = cause?.reason ?? reasonOfEnd(exitCode, worker);
    if (session.kind === 'tunnel') this.#uses.end(session, reason);
    if (connection.recording !== null) this.#record(connection.recording.flush());
    // A shell ends with its connection. A tunnel stays open for further connections, unless its user lost access.
    if (session.kind === 'shell' || cause?.code === CLOSE.accessEnded)
      this.#record(this.#close(session, reason, exitCode));
  }

  #recordingOf({ id, columns, rows, command, recorded_until }: RemoteSessionRow): Recording | null {
    if (recorded_until === null) return null;
    const size = columns === null || rows === null ? null : { columns, rows };
    const store = (part: number, content: Buffer) => insertRecordingPart(this.#db, id, part, content);
    return new Recording({ size, command, beganAt: Date.now(), store });
  }

  /** Stores the pending output of a recording. If that fails, the next call tries again. */
  #store(recording: Recording): void {
    recording.flush().catch((error: unknown) => {
      this.#log.warn({ err: error }, `a recording is not stored yet: ${errorMessage(error)}`);
    });
  }

  #close({ id, kind }: RemoteSessionRow, reason: string, exitCode: number | null): Promise<void> {
    return kind === 'shell' ? endShell(this.#db, id, { reason, exitCode }) : closeTunnel(this.#db, id, reason);
  }

  #record(work: Promise<void>): void {
    const recorded = work
      .catch((error: unknown) => {
        this.#log.error(
          { err: error },
          `the end, the traffic or the recording of a session was not stored: ${errorMessage(error)}`,
        );
      })
      .finally(() => this.#ends.delete(recorded));
    this.#ends.add(recorded);
  }

  async #watch(): Promise<void> {
    this.#looks += 1;
    let lostAccess = new Map<string, string>();
    try {
      lostAccess = await this.#lookAtAccess();
      this.#failedLooks = 0;
    } catch (error) {
      this.#failedLooks += 1;
      this.#log.warn({ err: error }, `the access of open sessions is not known: ${errorMessage(error)}`);
      if (this.#failedLooks >= MAX_FAILED_LOOKS)
        for (const connection of this.#connections) end(connection, NO_DATABASE);
    }
    const now = Date.now();
    for (const connection of this.#connections) {
      const { session, activeAt, recording } = connection;
      if (recording !== null && this.#looks % LOOKS_PER_TOUCH === 0) this.#store(recording);
      const cause = causeOfEnd({ kind: session.kind, activeAt }, now, lostAccess.get(session.id));
      if (cause !== null) end(connection, cause);
    }
  }

  async #lookAtAccess(): Promise<Map<string, string>> {
    if (this.#looks % LOOKS_PER_SEARCH === 0) {
      for (const id of await lostShells(this.#db)) {
        if (!this.#isOpen(id)) await endShell(this.#db, id, { reason: ENDING.reason });
      }
    }
    if (this.#looks % LOOKS_PER_TOUCH === 0) await this.#traffic.report();
    const ids = [...new Set([...this.#connections].map(({ session }) => session.id))];
    if (ids.length === 0) return new Map();
    if (this.#looks % LOOKS_PER_TOUCH === 0) await touchSessions(this.#db, ids);
    return sessionsWithoutAccess(this.#db, ids);
  }

  #isOpen(id: string): boolean {
    return [...this.#connections].some(({ session }) => session.id === id);
  }

  #ping(): void {
    for (const { client } of this.#connections) if (client.readyState === client.OPEN) client.ping();
  }
}

/** Closes both sides. A client that has not read the reason after LINGER_MS is disconnected. */
function end(connection: Connection, cause: EndCause): void {
  if (connection.cause !== null) return;
  connection.cause = cause;
  const { client, worker } = connection;
  client.close(cause.code, cause.reason);
  worker?.terminate();
  client.resume();
  setTimeout(() => client.terminate(), LINGER_MS).unref();
}

function recordedNotice({ columns }: RemoteSessionRow): Buffer {
  const text = 'This shell is recorded.';
  return columns === null ? Buffer.from(`\u0002${text}\n`) : Buffer.from(`${text}\r\n`);
}

/** Also destroys the socket if the client does not close it, because no server timeout applies to an upgrade. */
function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
