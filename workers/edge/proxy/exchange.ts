import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../../../shared/log.js';
import type { Client } from './headers.js';

/** One request and its answer on their way through the edge. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
  /** There where the client asked for another protocol on this connection; `head` is what it sent already. */
  upgrade: { socket: Socket; head: Buffer } | null;
  requestId: string;
  client: Client;
  host: string;
  /** Answers may be compressed here; a proxy in front does it otherwise. */
  compress: boolean;
  log: Logger;
}
