import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/log.js';
import type { Edge } from '../edge.js';
import { type EdgeTimeouts, NodeEdge, type NodeEdgeOptions, TIMEOUTS } from '../proxy/node-edge.js';
import type { RouteTable } from '../table.js';
import { AdminApi, CaddyError } from './admin-api.js';
import { ConfigKeeper } from './config-keeper.js';
import { inFlight } from './in-flight.js';
import { type LinkPorts, linkPorts, listenNear } from './link-ports.js';
import { NameServer, upstreamName } from './name-server.js';
import { configParts, REFRESH_MS, SERVER_PATH } from './server-config.js';
import type { EdgeTls } from './tls-config.js';
import { type Endpoint, zoneOf } from './zone.js';

/** For an answer that was on its way to Caddy, and a request on its way from there to a replica. */
const MARGIN_MS = 250;
const LOOK_MS = 100;

export interface CaddyEdgeOptions extends Pick<NodeEdgeOptions, 'imagesDir' | 'log' | 'refresh' | 'timeouts'> {
  /** The port on which Caddy takes requests. */
  port: number;
  /** Where Caddy's admin API listens. */
  adminUrl: string;
  /** The hosts below this domain are services. */
  domain: string;
  tls: EdgeTls | null;
}

/**
 * The edge as a Caddy of the operator's, on this host. Caddy's configuration is one server that is loaded once; which
 * replicas a host has it asks over DNS, so that a new table changes answers and reloads nothing. What is more than
 * passing on (pages, static sites, maintenance, allow lists) it hands to the responder, a proxy in this process.
 */
export class CaddyEdge implements Edge {
  readonly #options: CaddyEdgeOptions;
  readonly #timeouts: EdgeTimeouts;
  readonly #log: Logger;
  readonly #api: AdminApi;
  readonly #names: NameServer;
  readonly #responder: NodeEdge;
  readonly #ended = new AbortController();
  readonly #serving: Promise<void>;
  #served: () => void = () => undefined;
  #keeper: ConfigKeeper | null = null;

  constructor(options: CaddyEdgeOptions) {
    const { adminUrl, imagesDir, log, refresh } = options;
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
    this.#log = log;
    this.#api = new AdminApi(adminUrl);
    this.#names = new NameServer(log, this.#timeouts.connectMs);
    const timeouts = this.#timeouts;
    this.#responder = new NodeEdge({
      port: 0,
      address: '127.0.0.1',
      behindProxy: true,
      imagesDir,
      log,
      refresh,
      timeouts,
    });
    this.#serving = new Promise((resolve) => {
      this.#served = resolve;
    });
  }

  /** Throws `CaddyError` where Caddy does not answer, or does not take the configuration. */
  async listen(): Promise<void> {
    const { port, domain, tls } = this.#options;
    const server = await this.#api.get(`/config/${SERVER_PATH.join('/')}`);
    // The ports of the edge before this one, so that Caddy's configuration stays what it is.
    const ports: LinkPorts = linkPorts(server);
    await listenNear(ports.responder, (near) => this.#responder.listen(near));
    const responder = `127.0.0.1:${this.#responder.port}`;
    await listenNear(ports.nameServer, (near) => this.#names.listen(near, this.#responder.port));
    const nameServer = this.#names.address;
    const parts = configParts({ domain, port, tls, responder, nameServer, timeouts: this.#timeouts });
    const keeper = new ConfigKeeper(this.#api, parts, this.#log);
    await keeper.start();
    this.#keeper = keeper;
    // Until Caddy has forgotten what an edge before this one said.
    await this.#wait(REFRESH_MS + MARGIN_MS);
    this.#served();
  }

  async apply(table: RouteTable): Promise<void> {
    const answered = this.#responder.apply(table);
    const { left, lastAnswered } = this.#names.serve(zoneOf(table));
    await this.#serving;
    if (lastAnswered !== null) await this.#wait(lastAnswered + REFRESH_MS + MARGIN_MS - performance.now());
    await Promise.all([answered, this.#drained(left)]);
  }

  /**
   * Caddy keeps the configuration and goes on passing requests on while this process ends, and lets them wait for a
   * moment once it has: the next edge process finds all as it was.
   */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#keeper?.close();
    await this.#responder.close();
    this.#names.close();
  }

  /** Resolves when no request that comes to an end is under way to these endpoints, or after the bound. */
  async #drained(left: readonly Endpoint[]): Promise<void> {
    const deadline = performance.now() + this.#timeouts.drainMs;
    while (performance.now() < deadline && !this.#ended.signal.aborted) {
      const gone = left.filter((endpoint) => !this.#names.names(endpoint));
      if (gone.length === 0) return;
      const busy = await this.#busy();
      if (busy !== null && !gone.some((endpoint) => busy.has(upstreamName(endpoint, 'plain')))) return;
      await this.#wait(LOOK_MS);
    }
  }

  /** Null where Caddy does not say. */
  async #busy(): Promise<ReadonlySet<string> | null> {
    try {
      return await inFlight(this.#api);
    } catch (error) {
      // Without a Caddy, nothing is under way.
      if (error instanceof CaddyError && error.kind === 'absent') return new Set();
      this.#log.warn(`it is not known which requests are under way: ${errorMessage(error)}`);
      return null;
    }
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#ended.signal }).catch(() => undefined);
  }
}
