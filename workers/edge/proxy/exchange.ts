import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../../../shared/core/log.js';
import type { ServiceTraffic } from '../traffic-meter.js';
import type { Containment } from './containment.js';
import type { Client } from './proxy-headers.js';
import type { EncoderBudget } from './sites/encoder-budget.js';
import type { ClientConnection } from './visitors/client-connection.js';

/** One request and its answer on their way through the edge. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  /** Set if the client asked for another protocol on this connection. `head` has the bytes that it has already sent. */
  upgrade: { socket: Socket; head: Buffer } | null;
  requestId: string;
  client: Client;
  host: string;
  /** The client's connection, which may serve later exchanges too. */
  connection: ClientConnection;
  /** Guards this exchange's callbacks. */
  containment: Containment;
  /** Limits how many answers are compressed at the same time. */
  encoders: EncoderBudget;
  log: Logger;
  /** Counts the answer for its service; null until a service is found. */
  traffic: ServiceTraffic | null;
  /** Called once if the client's connection closes while a replica has the request. */
  onClientGone: (() => void) | null;
  /** Called once when the client's socket is joined to a replica's. The response then emits no `close`. */
  onJoined: () => void;
  /** True for an event stream, whose duration is no latency. */
  streams: boolean;
}
