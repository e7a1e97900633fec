import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { clientKey } from '../../../shared/core/client-address.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { withTimeLimit } from '../../../shared/core/time-limit.js';
import { countVisit } from '../canary/visitor-side.js';
import type { Edge } from '../edge.js';
import type { RouteTable } from '../route-table.js';
import { TrafficMeter } from '../traffic-meter.js';
import { type AnswerSources, answer } from './answer-request.js';
import { Containment, type EdgeCounters, ownSocket } from './containment.js';
import { PAGES, sendPage } from './error-pages.js';
import type { Exchange } from './exchange.js';
import { HeldRequests } from './held-requests.js';
import { LiveTable } from './live-table.js';
import { type EdgeSide, openExchange, passTurn, pipelinesTooMuch, takeTurn } from './open-exchange.js';
import { hasBody } from './proxy-headers.js';
import { MAX_HEADER_BYTES, type ReplicaTimes } from './replicas/replica-connections.js';
import { EncoderBudget } from './sites/encoder-budget.js';
import { type ConnectionLimits, Connections } from './visitors/bounded-connections.js';
import { ClientConnection } from './visitors/client-connection.js';
import { admitOnly, drainRest, refuseMalformed } from './visitors/client-socket.js';
import { Gauge } from './work-gauge.js';

export interface NodeEdgeOptions {
  /** 0 picks a free port, which the getter `port` returns. */
  port: number;
  /** The file descriptor of a listening socket, which queues connections while the edge restarts. */
  descriptor?: number | null;
  /** True if only a trusted proxy can connect. Its X-Forwarded headers are then trusted. */
  behindProxy?: boolean;
  imagesDir: string;
  log: Logger;
  refresh: (serviceId: string) => Promise<void>;
  timeouts?: Partial<EdgeTimeouts>;
  limits?: Partial<ConnectionLimits>;
  /** Wakes a sleeping service. Never throws. */
  wake?: (serviceId: string) => void;
  traffic?: TrafficMeter;
}

export interface EdgeTimeouts extends ReplicaTimes {
  /** These times are in milliseconds. */
  clientHeadersMs: number;
  /** How long `apply` waits for requests in progress to replicas that are not in the new table. */
  drainMs: number;
  closeMs: number;
  refreshMs: number;
  holdMs: number;
}

export const TIMEOUTS: EdgeTimeouts = {
  connectMs: 2_000,
  headersMs: 60_000,
  clientHeadersMs: 15_000,
  drainMs: 20_000,
  closeMs: 10_000,
  refreshMs: 2_000,
  holdMs: 30_000,
};
const LIMITS: ConnectionLimits = { perClient: 512, total: 8_192, slow: 512, stallMs: 60_000 };
const CLIENT_KEEP_ALIVE_MS = 65_000;
/** The kernel probes idle clients, because idle streams of disconnected clients would stay open. */
const TCP_KEEP_ALIVE_MS = 60_000;
const NOT_ACCEPTED_LOG_MS = 10_000;
/** How long `close` waits for requests on connections that have just been accepted. */
const FIRST_REQUEST_MS = 500;

/** The edge as a reverse proxy in this process. No request waits for PostgreSQL. */
export class NodeEdge implements Edge {
  readonly #options: NodeEdgeOptions;
  readonly #timeouts: EdgeTimeouts;
  readonly #table: LiveTable;
  readonly #server: Server;
  readonly #held: HeldRequests;
  readonly #exchanges = new Gauge();
  readonly #upgraded = new Set<Socket>();
  readonly #counters: EdgeCounters = { failedExchanges: 0, closedConnections: 0, refusedConnections: 0 };
  readonly #connections: Connections;
  readonly #side: EdgeSide;
  readonly #sources: AnswerSources;
  /** Handles errors on connections outside any exchange. */
  readonly #outside: Containment;
  #lastNotAccepted = Number.NEGATIVE_INFINITY;

  constructor(options: NodeEdgeOptions) {
    const { behindProxy = false, log } = options;
    const limits = { ...LIMITS, ...options.limits };
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    this.#held = new HeldRequests(this.#timeouts.holdMs);
    this.#table = new LiveTable(this.#timeouts, options.traffic ?? new TrafficMeter());
    this.#side = { log, counters: this.#counters, encoders: new EncoderBudget(), behindProxy };
    this.#outside = new Containment({ log, counters: this.#counters, labels: {}, end: () => undefined });
    const refresh = (serviceId: string) => this.#refresh(serviceId);
    const { imagesDir, wake = () => undefined } = options;
    this.#sources = { table: this.#table, imagesDir, refresh, held: this.#held, wake };
    this.#connections = new Connections(limits, this.#counters, behindProxy);
    this.#server = createServer({
      keepAliveTimeout: CLIENT_KEEP_ALIVE_MS,
      headersTimeout: this.#timeouts.clientHeadersMs,
      connectionsCheckingInterval: Math.min(5_000, this.#timeouts.clientHeadersMs),
      // An upload may take long. request-body.ts aborts one that makes no progress.
      requestTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    });
    this.#server.on('request', (req, res) => this.#guarded(req.socket, () => this.#receive(req, res, null)));
    this.#server.on('upgrade', (req, socket: Socket, head) =>
      this.#guarded(socket, () => this.#upgrade(req, socket, head)),
    );
    this.#server.on('clientError', (error, socket: Socket) =>
      refuseMalformed(error, socket, this.#connections.of(socket)?.answer ?? null),
    );
    admitOnly(this.#server, (socket) => this.#admit(socket));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get figures(): Edge['figures'] {
    const { size: connections } = this.#connections;
    return { ...this.#counters, connections, requests: this.#exchanges.value, upgraded: this.#upgraded.size };
  }

  /** Listens on the descriptor or port of the options, or on a Unix socket at `path`. */
  async listen(path?: string): Promise<void> {
    const { port, descriptor = null } = this.#options;
    const place = path !== undefined ? { path } : descriptor === null ? { port } : { fd: descriptor };
    await once(this.#server.listen(place), 'listening');
    this.#server.on('error', (error) => this.#notAccepted(error));
  }

  async apply(table: RouteTable, changed?: ReadonlySet<string>): Promise<void> {
    const left = this.#table.swap(table, changed);
    this.#held.wake((host) => this.#table.find(host)?.route);
    await Promise.all(left.map((upstream) => upstream.requests.empty(this.#timeouts.drainMs)));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#held.close();
    // Clients whose connections were just accepted are about to send requests, which must not be lost.
    await Promise.race([closed, delay(FIRST_REQUEST_MS, undefined, { ref: false })]);
    await this.#exchanges.empty(this.#timeouts.closeMs);
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeAllConnections();
    this.#connections.close();
    this.#table.destroy();
    await closed;
  }

  #admit(socket: Socket): boolean {
    let admitted = false;
    ownSocket(socket, (error) => this.#escaped(socket, error));
    this.#guarded(socket, () => {
      admitted = this.#connections.admit(socket);
    });
    return admitted;
  }

  /** Aborts the connection's exchange. If it has none, closes the connection. */
  #escaped(socket: Socket, error: unknown): void {
    const containment = this.#connections.of(socket)?.containment;
    (containment ?? this.#outside).caught(error, 'an exception escaped a connection');
    if (!containment) socket.destroy();
  }

  #guarded(socket: Socket, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#outside.caught(error);
      socket.destroy();
    }
  }

  #notAccepted(error: Error): void {
    const now = performance.now();
    if (now - this.#lastNotAccepted < NOT_ACCEPTED_LOG_MS) return;
    this.#lastNotAccepted = now;
    this.#options.log.error({ err: error }, 'a connection was not accepted');
  }

  #upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    socket.on('error', () => socket.destroy());
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    try {
      res.assignSocket(socket);
    } catch {
      // An earlier request on this connection has no response yet, so this one cannot get a response.
      socket.destroy();
      return;
    }
    socket.on('drain', () => res.emit('drain'));
    res.once('finish', () => socket.destroySoon());
    this.#receive(req, res, { socket, head });
  }

  /** The exchange starts once the connection's earlier requests have their responses. */
  #receive(req: IncomingMessage, res: ServerResponse, upgrade: Exchange['upgrade']): void {
    const { socket } = req;
    const connection = this.#connections.of(socket) ?? new ClientConnection(socket);
    if (socket.destroyed || pipelinesTooMuch(connection)) return void socket.destroy();
    const onJoined = () => {
      this.#exchanges.remove();
      socket.once('close', () => exchange.traffic?.end());
    };
    const exchange = openExchange(this.#side, { req, res, upgrade, connection, onJoined });
    const admitted = !this.#side.behindProxy || this.#connections.carry(connection, clientKey(exchange.client.address));
    let begun: number | null = null;
    let sentBefore = 0;
    const onClose = () => {
      if (this.#side.behindProxy && admitted) this.#connections.release(connection);
      exchange.onClientGone?.();
      if (begun !== null) this.#ended(exchange, performance.now() - begun, socket.bytesWritten - sentBefore);
      // An idle connection must not reference these objects: surviving objects make garbage collections expensive.
      connection.containment = connection.answer = null;
      passTurn(connection);
    };
    res.once('close', exchange.containment.guard(onClose));
    takeTurn(connection, () => {
      if (socket.destroyed) return;
      begun = performance.now();
      sentBefore = socket.bytesWritten;
      connection.containment = exchange.containment;
      connection.answer = res;
      this.#exchanges.add();
      this.#answer(exchange, admitted);
    });
  }

  #answer(exchange: Exchange, admitted: boolean): void {
    const { req, res, containment } = exchange;
    if (!this.#server.listening) res.shouldKeepAlive = false;
    try {
      if (admitted) answer(exchange, this.#sources);
      else sendPage(exchange, PAGES.tooManyRequests);
      exchange.traffic?.begin();
    } catch (error) {
      containment.caught(error);
    }
    if (hasBody(req)) drainRest(req, res);
  }

  #ended(
    { req, res, traffic, canary, streams, host, requestId, containment, log }: Exchange,
    ms: number,
    bytes: number,
  ): void {
    this.#exchanges.remove();
    traffic?.end();
    containment.ended();
    // If no headers were sent, the client disconnected first.
    if (traffic !== null && res.headersSent) traffic.count(res.statusCode, bytes, streams ? null : ms);
    if (canary !== null && res.headersSent) countVisit(canary, res.statusCode, streams ? null : ms);
    log.debug({ host, method: req.method, url: req.url, status: res.statusCode, requestId }, 'request');
  }

  async #refresh(serviceId: string): Promise<void> {
    const { refreshMs } = this.#timeouts;
    const late = () => new Error(`it did not come within ${refreshMs} ms`);
    await withTimeLimit(this.#options.refresh(serviceId), refreshMs, late).catch((error) => {
      this.#options.log.warn(`no fresh route for service ${serviceId}: ${errorMessage(error)}`);
    });
  }
}
