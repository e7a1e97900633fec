import type { ServerResponse } from 'node:http';
import type { Logger } from '../../../shared/core/log.js';
import type { ClientConnection } from './client-connection.js';
import { Containment, type EdgeCounters } from './containment.js';
import type { EncoderBudget } from './encoder-budget.js';
import type { Exchange } from './exchange.js';
import { clientOf, hostOf, requestIdOf } from './headers.js';
import { PAGES, sendPage } from './pages.js';

/** Requests that a client may send on a connection while another is served. */
const MAX_PIPELINED = 16;

/** What all exchanges of an edge share. */
export interface EdgeSide {
  log: Logger;
  counters: EdgeCounters;
  encoders: EncoderBudget;
  /** Whether what the request says about the client is from a proxy in front. */
  behindProxy: boolean;
}

/** The exchange of a request. An exception in it answers 500, or ends its connection if the answer has begun. */
export function openExchange(
  { log, counters, encoders, behindProxy }: EdgeSide,
  { req, res, upgrade, connection }: Pick<Exchange, 'req' | 'res' | 'upgrade' | 'connection'>,
): Exchange {
  const host = hostOf(req);
  const requestId = requestIdOf(req);
  const end = () => endExchange(exchange);
  const containment = new Containment({ log, counters, labels: { host, requestId }, end });
  const client = clientOf(req, behindProxy);
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
    streams: false,
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

/**
 * Counts the request and returns a promise that resolves when the request may be served; null if it may at once. Requests that a
 * client pipelines are served one after the other, so that a connection costs no more than one exchange.
 */
export function takeTurn(connection: ClientConnection, res: ServerResponse): Promise<void> | null {
  const { turn } = connection;
  const first = connection.exchanges === 0;
  connection.exchanges += 1;
  connection.turn = new Promise((resolve) => {
    res.once('close', () => {
      connection.exchanges -= 1;
      connection.upload = null;
      connection.idleSince = performance.now();
      resolve();
    });
  });
  return first ? null : turn;
}

/** Whether the client sends more requests than it is given answers for. */
export function pipelinesTooMuch(connection: ClientConnection): boolean {
  return connection.exchanges > MAX_PIPELINED;
}
