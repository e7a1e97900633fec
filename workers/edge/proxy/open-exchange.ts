import type { Logger } from '../../../shared/core/log.js';
import { Containment, type EdgeCounters } from './containment.js';
import { PAGES, sendPage } from './error-pages.js';
import type { Exchange } from './exchange.js';
import { clientOf, hostOf, requestIdOf } from './proxy-headers.js';
import type { EncoderBudget } from './sites/encoder-budget.js';
import type { ClientConnection } from './visitors/client-connection.js';

const MAX_PIPELINED = 16;

export interface EdgeSide {
  log: Logger;
  counters: EdgeCounters;
  encoders: EncoderBudget;
  /** True if a trusted proxy in front sets the request's headers about its client. */
  behindProxy: boolean;
}

/** Creates the exchange for a request. After an exception in it, the client gets a 500 response. */
export function openExchange(
  { log, counters, encoders, behindProxy }: EdgeSide,
  { req, res, upgrade, connection, onJoined }: Pick<Exchange, 'req' | 'res' | 'upgrade' | 'connection' | 'onJoined'>,
): Exchange {
  const host = hostOf(req);
  const requestId = requestIdOf(req);
  const end = () => endExchange(exchange);
  const containment = new Containment({ log, counters, labels: { host, requestId }, end });
  const client = behindProxy ? clientOf(req, true) : (connection.peer ?? clientOf(req, false));
  if (!behindProxy) connection.peer = client;
  const exchange: Exchange = {
    req,
    res,
    upgrade,
    requestId,
    client,
    host,
    connection,
    containment,
    encoders,
    log,
    traffic: null,
    canary: null,
    onClientGone: null,
    onJoined,
    streams: false,
    headerChanges: null,
    move: null,
  };
  res.on('error', (error) => containment.caught(error));
  return exchange;
}

function endExchange(exchange: Exchange): void {
  const { req, res } = exchange;
  try {
    if (res.headersSent || res.destroyed) throw new Error('the answer has begun');
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    sendPage(exchange, PAGES.internalError);
  } catch {
    req.socket.destroy();
  }
}

/** Serves pipelined requests one by one, so that a connection never costs more than one exchange. */
export function takeTurn(connection: ClientConnection, begin: () => void): void {
  connection.exchanges += 1;
  if (connection.exchanges === 1) begin();
  else connection.waiting.push(begin);
}

/** Starts the connection's next request. */
export function passTurn(connection: ClientConnection): void {
  connection.exchanges -= 1;
  connection.upload = null;
  connection.idleSince = performance.now();
  connection.waiting.shift()?.();
}

/** Returns true if the client has pipelined too many requests. */
export function pipelinesTooMuch(connection: ClientConnection): boolean {
  return connection.exchanges > MAX_PIPELINED;
}
