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
  /** Present if the client asked to upgrade this connection. `head` contains the bytes that it has already sent. */
  upgrade: { socket: Socket; head: Buffer } | null;
  requestId: string;
  client: Client;
  host: string;
  /** The client's connection, which may also carry later exchanges. */
  connection: ClientConnection;
  containment: Containment;
  /** Limits how many responses are compressed at the same time. */
  encoders: EncoderBudget;
  log: Logger;
  /** Counts the response for its service; null until a service is found. */
  traffic: ServiceTraffic | null;
  /** The release that serves the visitor during a canary, and its counters; null if no canary is under way. */
  canary: VisitorSide | null;
  /** Called once if the client's connection closes while a replica handles the request. */
  onClientGone: (() => void) | null;
  /** Called once when an upgrade connects the client's socket to a replica's: the response then emits no `close`. */
  onJoined: () => void;
  /** True for an event stream, whose duration does not count as latency. */
  streams: boolean;
  /** Changes that rules make to the response headers; null for none. */
  headerChanges: readonly HeaderChange[] | null;
  /** The redirect or rewrite of a matching rule. Unless forced, it applies only if the site has no file at the path. */
  move: SiteMove | null;
}
