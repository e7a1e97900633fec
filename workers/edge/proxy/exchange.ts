import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../../../shared/core/log.js';
import type { VisitorSide } from '../canary/live-canary.js';
import type { HeaderChange, SiteMove } from '../rules/rule-set.js';
import type { ServiceTraffic } from '../traffic-meter.js';
import type { Containment } from './containment.js';
import type { Client } from './proxy-headers.js';
import type { EncoderBudget } from './sites/encoder-budget.js';
import type { ClientConnection } from './visitors/client-connection.js';

/** One request and its response while the edge handles them. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  /** `head` has the bytes that the client has already sent after its upgrade request. */
  upgrade: { socket: Socket; head: Buffer } | null;
  requestId: string;
  client: Client;
  host: string;
  /** The client's connection, which may also carry later exchanges. */
  connection: ClientConnection;
  containment: Containment;
  encoders: EncoderBudget;
  log: Logger;
  /** Null until a service is found. */
  traffic: ServiceTraffic | null;
  /** Null if no canary is under way. */
  canary: VisitorSide | null;
  /** Called once if the client's connection closes while a replica handles the request. */
  onClientGone: (() => void) | null;
  /** Called once when an upgrade connects the client's socket to a replica's: the response then emits no `close`. */
  onJoined: () => void;
  /** True for an event stream, whose duration does not count as latency. */
  streams: boolean;
  headerChanges: readonly HeaderChange[] | null;
  /** The redirect or rewrite of a matching rule. */
  move: SiteMove | null;
}
