import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { lazily } from '../../shared/core/lazily.js';
import type { Logger } from '../../shared/core/log.js';
import {
  CLIENT_PATHS,
  CLOSE,
  IDLE_MS,
  MAX_MESSAGE_BYTES,
  MAX_TUNNEL_CONNECTIONS,
  parseControl,
  WORKER_PATH,
} from '../../shared/remote/model.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import { hashToken } from '../../shared/secrets/random-token.js';
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
import { TunnelUses } from './tunnel-uses.js';

/** How often the access of open sessions is looked at, in milliseconds. An ended key ends them within two seconds. */
const WATCH_MS = 1_000;
/** A session is said to be open once in this many looks. */
const LOOKS_PER_TOUCH = 5;
const LOOKS_PER_SEARCH = 15;
/** Without the database, sessions go on for this many looks. */
const MAX_FAILED_LOOKS = 15;
/** Proxies close connections without traffic. */
const PING_MS = 25_000;
/** How long a client may take to read why it was closed, in milliseconds. */
const LINGER_MS = 1_000;
const ACCESS_ENDED = 'the key or the session that opened it ended, or its owner may not use it any more';

/** One client's connection. */
interface Connection {
  session: RemoteSessionRow;
  client: WebSocket;
  worker: WebSocket | null;
  /** When a byte came last from either side, in milliseconds. */
  activeAt: number;
  exitCode: number | null;
  /** Why the platform ended it; '' if the program or the client did. */
  reason: string;
  leaving: AbortController;
}

/** The clients' ends of shells and tunnels: takes their WebSockets, and passes everything on to a worker of the replica's host. */
export class RemoteAccess {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #rendezvous: Rendezvous;
  readonly #connections = new Set<Connection>();
  readonly #uses = new TunnelUses((session, facts) => this.#record(noteTunnelUse(this.#db, session, { ...facts })));
  readonly #ends = new Set<Promise<void>>();
  /** Made for the first connection: most API processes have none for a long time. */
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

  constructor({ db, log, address }: { db: Db; log: Logger; address: string }) {
    this.#db = db;
    this.#log = log;
    this.#rendezvous = new Rendezvous(db, address);
    this.#timers = [setInterval(() => void this.#watch(), WATCH_MS), setInterval(() => this.#ping(), PING_MS)];
    for (const timer of this.#timers) timer.unref();
  }

  /** Answers a request to change the protocol. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#upgrade(request, socket, head).catch((error: unknown) => {
      this.#log.warn({ err: error }, `a WebSocket was refused: ${errorMessage(error)}`);
      refuse(socket, '503 Service Unavailable');
    });
  }

  /** Ends every session. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#connections) end(connection, CLOSE.goingAway, 'the API process ended');
    this.#uses.close();
    await Promise.all(this.#ends);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (this.#closed) return refuse(socket, '503 Service Unavailable');
    if (path.startsWith(WORKER_PATH)) return this.#admitWorker(path.slice(WORKER_PATH.length), request, socket, head);
    const kind = (['shell', 'tunnel'] as const).find((each) => path.startsWith(CLIENT_PATHS[each]));
    if (kind === undefined) return refuse(socket, '404 Not Found');
    const session = await takeTicket(this.#db, kind, hashToken(path.slice(CLIENT_PATHS[kind].length)));
    if (session === null) return refuse(socket, '404 Not Found');
    if (this.#uses.openOf(session.id) >= MAX_TUNNEL_CONNECTIONS) return refuse(socket, '429 Too Many Requests');
    if ((await sessionsWithoutAccess(this.#db, [session.id])).length > 0) {
      await this.#close(session, ACCESS_ENDED, null);
      return refuse(socket, '403 Forbidden');
    }
    this.#sockets().handleUpgrade(request, socket, head, (client) => void this.#connect(session, client));
    // A handshake that fails has closed the socket, and nothing is open then.
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
      reason: '',
    };
    this.#connections.add(connection);
    if (session.kind === 'tunnel') this.#uses.begin(session);
    client.on('error', () => client.terminate());
    client.once('close', () => {
      leaving.abort();
      this.#ended(connection);
    });
    // Messages wait for the worker. The socket is read no further, so they take no memory.
    client.pause();
    const worker = await this.#rendezvous.worker(session, leaving.signal);
    if (worker === null) return end(connection, CLOSE.tryAgain, 'no worker of the host answers');
    if (leaving.signal.aborted || connection.reason !== '') return worker.terminate();
    connection.worker = worker;
    relay(client, worker, {
      onRequest: (data) => {
        connection.activeAt = Date.now();
        this.#uses.count(session.id, 'bytesToService', data.length);
      },
      onAnswer: (data, isBinary) => {
        connection.activeAt = Date.now();
        if (isBinary) this.#uses.count(session.id, 'bytesToClient', data.length);
        const control = isBinary ? null : parseControl(data.toString('utf8'));
        if (control !== null && 'exit' in control) connection.exitCode = control.exit;
      },
      onEnd: () => this.#ended(connection),
    });
  }

  /** Records the end once, as soon as either side has gone. */
  #ended(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    const { session, exitCode } = connection;
    const reason = connection.reason || (exitCode === null ? 'the connection was closed' : 'the command ended');
    if (session.kind === 'tunnel') this.#uses.end(session);
    // A tunnel outlives its connections.
    if (session.kind === 'shell' || connection.reason === ACCESS_ENDED)
      this.#record(this.#close(session, reason, exitCode));
  }

  #close({ id, kind }: RemoteSessionRow, reason: string, exitCode: number | null): Promise<void> {
    return kind === 'shell' ? endShell(this.#db, id, { reason, exitCode }) : closeTunnel(this.#db, id, reason);
  }

  #record(work: Promise<void>): void {
    const recorded = work
      .catch((error: unknown) => {
        this.#log.error({ err: error }, `the end of a session was not recorded: ${errorMessage(error)}`);
      })
      .finally(() => this.#ends.delete(recorded));
    this.#ends.add(recorded);
  }

  /** Ends what has lost its access or is idle. */
  async #watch(): Promise<void> {
    this.#looks += 1;
    const now = Date.now();
    for (const connection of this.#connections) {
      if (connection.session.kind === 'shell' && now - connection.activeAt > IDLE_MS) {
        end(connection, CLOSE.idle, 'it was idle for 15 minutes');
      }
    }
    try {
      await this.#watchAccess();
      this.#failedLooks = 0;
    } catch (error) {
      this.#failedLooks += 1;
      this.#log.warn({ err: error }, `the access of open sessions is not known: ${errorMessage(error)}`);
      if (this.#failedLooks < MAX_FAILED_LOOKS) return;
      for (const connection of this.#connections) end(connection, CLOSE.goingAway, 'the database does not answer');
    }
  }

  async #watchAccess(): Promise<void> {
    if (this.#looks % LOOKS_PER_SEARCH === 0) {
      for (const id of await lostShells(this.#db)) {
        if (!this.#isOpen(id)) await endShell(this.#db, id, { reason: 'the API process ended' });
      }
    }
    const ids = [...new Set([...this.#connections].map(({ session }) => session.id))];
    if (ids.length === 0) return;
    if (this.#looks % LOOKS_PER_TOUCH === 0) await touchSessions(this.#db, ids);
    const without = new Set(await sessionsWithoutAccess(this.#db, ids));
    for (const connection of this.#connections) {
      if (without.has(connection.session.id)) end(connection, CLOSE.accessEnded, ACCESS_ENDED);
    }
  }

  #isOpen(id: string): boolean {
    return [...this.#connections].some(({ session }) => session.id === id);
  }

  #ping(): void {
    for (const { client } of this.#connections) if (client.readyState === client.OPEN) client.ping();
  }
}

/** Ends a connection for a reason of the platform. The worker's end is ended at once, the client is told why. */
function end(connection: Connection, code: number, reason: string): void {
  if (connection.reason !== '') return;
  connection.reason = reason;
  const { client, worker } = connection;
  client.close(code, reason);
  worker?.terminate();
  client.resume();
  setTimeout(() => client.terminate(), LINGER_MS).unref();
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
