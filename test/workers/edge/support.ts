import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createLogger } from '../../../shared/core/log.js';
import type { Edge } from '../../../workers/edge/edge.js';
import { NodeEdge, type NodeEdgeOptions } from '../../../workers/edge/proxy/node-edge.js';
import type { Route, RouteTable } from '../../../workers/edge/route-table.js';

export const HOST = 'app.test';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  body: Buffer;
  cut: boolean;
}

export interface AskOptions {
  method?: string;
  host?: string;
  headers?: Record<string, string>;
  body?: Buffer | string;
}

/** Sends a request to the edge on a new connection. Rejects only if the edge sends no answer. */
export function ask(port: number, path: string, options: AskOptions = {}): Promise<Answer> {
  const { method = 'GET', host = HOST, headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', path, method, agent: false, headers: { host, ...headers } });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      const finish = (cut: boolean) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
          body: Buffer.concat(chunks),
          cut,
        });
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => finish(false));
      response.on('error', () => finish(true));
    });
    outgoing.end(body);
  });
}

/** Sends raw bytes, and returns everything that the edge answers until it closes the connection. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return text;
}

export interface TestReplica {
  id: string;
  address: string;
  port: number;
  server: Server;
}

export type TestEdge = Edge & { readonly port: number };
export type TestEdgeOptions = Pick<NodeEdgeOptions, 'imagesDir' | 'log' | 'refresh' | 'timeouts' | 'limits'>;

/** An implementation of the edge, against which the contract's tests run. */
export interface EdgeKind {
  name: string;
  create(options: TestEdgeOptions): Promise<TestEdge>;
  swaps: number;
}

export const nodeKind: EdgeKind = {
  name: 'node edge',
  create: async (options) => new NodeEdge({ port: 0, ...options }),
  swaps: 200,
};

/** The servers and edges of one test. */
export class Bench {
  readonly #kind: EdgeKind;
  readonly #closers: (() => Promise<unknown> | unknown)[] = [];
  #ids = 0;

  constructor(kind: EdgeKind = nodeKind) {
    this.#kind = kind;
  }

  async replica(handler: RequestListener): Promise<TestReplica> {
    const server = createServer(handler);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return { id: this.#nextId(), address: '127.0.0.1', port: (server.address() as AddressInfo).port, server };
  }

  async deadReplica(): Promise<TestReplica> {
    const replica = await this.replica(() => undefined);
    replica.server.close();
    await once(replica.server, 'close');
    return replica;
  }

  async edge(options: Partial<TestEdgeOptions> = {}): Promise<TestEdge> {
    const edge = await this.#kind.create({
      imagesDir: '/nonexistent',
      log: createLogger('test-edge', 'silent'),
      refresh: async () => undefined,
      ...options,
    });
    await edge.listen();
    this.#closers.unshift(() => edge.close());
    return edge;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }

  #nextId(): string {
    this.#ids += 1;
    return `replica-${this.#ids}`;
  }
}

/** Builds a route table with one host. */
export function proxied(replicas: readonly TestReplica[], overrides: Partial<Route> = {}): RouteTable {
  return tableWith({
    target: { type: 'proxy', replicas: replicas.map(({ id, address, port }) => ({ id, address, port })) },
    ...overrides,
  });
}

export function tableWith(overrides: Partial<Route>): RouteTable {
  const route: Route = {
    serviceId: 'service',
    host: HOST,
    certified: true,
    allow: [],
    maintenance: null,
    sleeps: false,
    target: { type: 'unavailable', reason: 'not_deployed' },
    ...overrides,
  };
  return new Map([[route.host, route]]);
}
