import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { MAX_HEADER_BYTES } from '../proxy/replicas/replica-connections.js';
import type { RouteTable } from '../route-table.js';

/** The path that responds with 204 while the edge accepts requests. */
export const READY_PATH = '/.ranvier/ready';
/**
 * The path that responds to `?domain=` with 200 if that host is served and resolves to this platform, else with 404.
 */
export const HOST_PATH = '/.ranvier/host';

/** The gate keeps an idle connection longer than Caddy does. */
const KEEP_ALIVE_MS = 65_000;
const CLOSE_MS = 1_000;

/**
 * Tells Caddy whether the edge accepts requests. The gate has its own socket, so that an edge that shuts down can
 * refuse new requests and still serve accepted ones.
 */
export class Gate {
  readonly #server: Server;
  #table: RouteTable = new Map();

  constructor() {
    // Caddy's request to the gate contains all headers of the visitor's request and further ones.
    const options = { maxHeaderSize: 2 * MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS };
    this.#server = createServer(options, (req, res) => {
      res.shouldKeepAlive &&= this.#server.listening;
      res.writeHead(this.#statusFor(req.url ?? ''), { 'Content-Length': 0 }).end();
    });
  }

  apply(table: RouteTable): void {
    this.#table = table;
  }

  async listen(path: string): Promise<void> {
    await once(this.#server.listen({ path }), 'listening');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const timer = setTimeout(() => this.#server.closeAllConnections(), CLOSE_MS);
    await new Promise((resolve) => this.#server.close(resolve));
    clearTimeout(timer);
  }

  #statusFor(url: string): number {
    const [path, query] = url.split('?');
    if (path === READY_PATH) return 204;
    if (path !== HOST_PATH) return 404;
    const host = new URLSearchParams(query).get('domain') ?? '';
    return this.#table.get(host.toLowerCase())?.certified ? 200 : 404;
  }
}
