import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { errorMessage } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/log.js';
import type { Edge } from '../edge.js';
import type { RouteTable } from '../table.js';
import { isAllowed } from './allow-list.js';
import type { Exchange } from './exchange.js';
import { forward } from './forward.js';
import { Gauge } from './gauge.js';
import { ambiguity, clientOf, hasBody, hostOf, requestIdOf } from './headers.js';
import { LiveTable } from './live-table.js';
import { badRequest, PAGES, sendMaintenance, sendPage } from './pages.js';
import { serveSite } from './static-site.js';
import { MAX_HEADER_BYTES, type UpstreamTimeouts } from './upstream.js';

export const HEALTH_PATH = '/.ranvier/healthz';
/** Asked on the edge's own address with `?domain=`: 200 where that host is served, else 404. */
export const HOST_PATH = '/.ranvier/host';

export interface NodeEdgeOptions {
  /** 0 takes a free one; `port` says which. */
  port: number;
  /** The one address to listen on; without it all of them, IPv4 and IPv6. */
  address?: string;
  /** Only a trusted proxy can come in: what it forwards says who the client is. */
  behindProxy?: boolean;
  /** Where images lie: `<imagesDir>/<digest>`. */
  imagesDir: string;
  log: Logger;
  /** Asks for a fresh route of a service and resolves when it is applied. */
  refresh: (serviceId: string) => Promise<void>;
  timeouts?: Partial<EdgeTimeouts>;
}

export interface EdgeTimeouts extends UpstreamTimeouts {
  /** Until a client has sent its headers. */
  clientHeadersMs: number;
  /** How long `apply` waits for requests that are under way to replicas that are left out. */
  drainMs: number;
  /** How long `close` waits for requests that are under way. */
  closeMs: number;
  /** How long a request may wait for a fresh route. */
  refreshMs: number;
}

export const TIMEOUTS: EdgeTimeouts = {
  connectMs: 2_000,
  headersMs: 60_000,
  clientHeadersMs: 15_000,
  drainMs: 20_000,
  closeMs: 10_000,
  refreshMs: 2_000,
};
const CLIENT_KEEP_ALIVE_MS = 65_000;
/** How long the rest of a body that nobody wants is read, so that the client comes to read its answer. */
const LINGER_MS = 5_000;

/** The edge as a reverse proxy in this process. The table is in memory; no request waits for PostgreSQL. */
export class NodeEdge implements Edge {
  readonly #options: NodeEdgeOptions;
  readonly #timeouts: EdgeTimeouts;
  readonly #table: LiveTable;
  readonly #server: Server;
  readonly #exchanges = new Gauge();
  readonly #upgraded = new Set<Socket>();

  constructor(options: NodeEdgeOptions) {
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    this.#table = new LiveTable(this.#timeouts);
    this.#server = createServer({
      keepAliveTimeout: CLIENT_KEEP_ALIVE_MS,
      headersTimeout: this.#timeouts.clientHeadersMs,
      connectionsCheckingInterval: Math.min(5_000, this.#timeouts.clientHeadersMs),
      // Bodies may take their time; one that stands still is ended where it is read (request-body.ts).
      requestTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.#server.on('request', (req, res) => void this.#answer(req, res, null));
    this.#server.on('upgrade', (req, socket: Socket, head) => this.#upgrade(req, socket, head));
    this.#server.on('clientError', refuseMalformed);
  }

  /** The port that is listened on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  listen(port = this.#options.port): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { address } = this.#options;
      this.#server.listen({ port, ...(address === undefined ? {} : { host: address }) }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#options.log.error({ err: error }, 'a connection was not accepted'));
        resolve();
      });
    });
  }

  async apply(table: RouteTable): Promise<void> {
    const left = this.#table.swap(table);
    await Promise.all(left.map((upstream) => upstream.requests.empty(this.#timeouts.drainMs)));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await this.#exchanges.empty(this.#timeouts.closeMs);
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeAllConnections();
    await this.#table.destroy();
    await closed;
  }

  /** Asked for a protocol change: answered like any request, unless the replica agrees and the sockets are joined. */
  #upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    socket.on('error', () => socket.destroy());
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    try {
      res.assignSocket(socket);
    } catch {
      // An earlier request on this connection has no answer yet: nothing can be said in its place.
      socket.destroy();
      return;
    }
    socket.on('drain', () => res.emit('drain'));
    res.once('finish', () => socket.destroySoon());
    void this.#answer(req, res, { socket, head });
  }

  async #answer(req: IncomingMessage, res: ServerResponse, upgrade: Exchange['upgrade']): Promise<void> {
    const { log, behindProxy = false } = this.#options;
    const exchange: Exchange = {
      req,
      res,
      upgrade,
      requestId: requestIdOf(req),
      client: clientOf(req, behindProxy),
      host: hostOf(req),
      compress: !behindProxy,
      log,
    };
    const leave = this.#exchanges.enter();
    res.once('close', leave);
    res.once('finish', () => drainRest(req));
    if (!this.#server.listening) res.shouldKeepAlive = false;
    try {
      await this.#route(exchange);
    } catch (error) {
      log.error({ err: error, host: exchange.host, requestId: exchange.requestId }, 'the edge failed on a request');
      if (res.headersSent) res.destroy();
      else sendPage(exchange, PAGES.internalError);
    }
    // The joined sockets are no exchange any more, and this response will never close.
    if (upgrade !== null && res.socket === null) leave();
    const { host, requestId } = exchange;
    log.debug({ host, method: req.method, url: req.url, status: res.statusCode, requestId }, 'request');
  }

  async #route(exchange: Exchange): Promise<void> {
    const { req, upgrade } = exchange;
    const problem = ambiguity(req) ?? (upgrade && hasBody(req) ? 'An upgrade request must not have a body.' : null);
    if (problem !== null) return sendPage(exchange, badRequest(problem));
    const live = this.#table.find(exchange.host);
    if (live === undefined) return this.#unknownHost(exchange);
    if (!isAllowed(live.allow, exchange.client.address)) return sendPage(exchange, PAGES.notAllowed);
    const { maintenance, serviceId, target } = live.route;
    if (maintenance !== null) return sendMaintenance(exchange, maintenance);
    switch (target.type) {
      case 'unavailable':
        return sendPage(exchange, PAGES[target.reason]);
      case 'static':
        return serveSite(exchange, target, this.#options.imagesDir);
      case 'proxy':
        return forward(exchange, {
          upstreams: () => this.#table.find(exchange.host)?.upstreams ?? [],
          refresh: () => this.#refresh(serviceId),
        });
    }
  }

  #unknownHost(exchange: Exchange): void {
    const { req, res, requestId } = exchange;
    const [path, query] = (req.url ?? '').split('?');
    const served = path === HOST_PATH && this.#table.find(new URLSearchParams(query).get('domain') ?? '') !== undefined;
    if (req.method !== 'GET' || !(served || path === HEALTH_PATH)) {
      sendPage(exchange, PAGES.unknownHost);
      return;
    }
    const body = { status: 'ok', ...this.#table.size, requests: this.#exchanges.value, upgraded: this.#upgraded.size };
    res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'X-Request-ID': requestId });
    res.end(JSON.stringify(body));
  }

  async #refresh(serviceId: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#timeouts.refreshMs);
    });
    const fresh = this.#options.refresh(serviceId).catch((error) => {
      this.#options.log.warn(`no fresh route for service ${serviceId}: ${errorMessage(error)}`);
    });
    await Promise.race([fresh, late]);
    clearTimeout(timer);
  }
}

/** Reads on for a while after an answer that came before the end of the request's body. */
function drainRest(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  const timer = setTimeout(() => req.socket.destroy(), LINGER_MS);
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.resume();
}

function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
