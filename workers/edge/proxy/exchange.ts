import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../../../shared/core/log.js';
import type { ServiceTraffic } from '../traffic-meter.js';
import type { Containment } from './containment.js';
import type { Client } from './headers.js';
import type { EncoderBudget } from './sites/encoder-budget.js';
import type { ClientConnection } from './visitors/client-connection.js';

/** One request and its answer on their way through the edge. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  /** Set if the client asked for another protocol on this connection. `head` is what it has sent already. */
  upgrade: { socket: Socket; head: Buffer } | null;
  requestId: string;
  client: Client;
  host: string;
  /** The client's connection, which may serve other exchanges later. */
  connection: ClientConnection;
  /** Callbacks of this exchange go through it. */
  containment: Containment;
  /** Limits how many answers are compressed at a time. */
  encoders: EncoderBudget;
  log: Logger;
  /** Counts the answer for its service; null as long as no service was found. */
  traffic: ServiceTraffic | null;
  /** Called once if the client's connection closes while a replica has the request. */
  onClientGone: (() => void) | null;
  /** Called once if the client's socket is joined to a replica's. The response then never closes. */
  onJoined: () => void;
  /** True for an event stream, whose length is no latency. */
  streams: boolean;
}
