import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import type { Edge } from '../edge.js';
import { NodeEdge, type NodeEdgeOptions, TIMEOUTS } from '../proxy/node-edge.js';
import type { RouteTable } from '../route-table.js';
import { AdminApi, socketPathOf } from './admin-api.js';
import { keepConfig } from './config-keeper.js';
import { Gate } from './readiness-gate.js';
import { configParts, type ServerSettings } from './server-config.js';
import { SocketFile } from './socket-file.js';

/** How long each step of closing an edge waits for requests that are about to arrive, in milliseconds. */
const SETTLE_MS = 100;
const POLL_INTERVAL_MS = 2_000;
const WRITABLE_BY_OTHERS = 0o002;

export interface CaddyEdgeOptions
  extends Omit<NodeEdgeOptions, 'descriptor' | 'behindProxy'>,
    Pick<ServerSettings, 'domain' | 'tls'> {
  socketDir: string;
  adminUrl: string;
}

/**
 * The edge behind the operator's Caddy on this host. Caddy terminates the visitors' connections and TLS, and passes
 * each request over a Unix socket to a proxy in this process. Thus no address that a hosted application can bind or
 * reach decides where a request goes. If Caddy found the replicas itself (by SRV records), a small GET would cost half
 * the CPU time, but every rule of the edge would have to be expressed in Caddy's configuration again.
 */
export class CaddyEdge implements Edge {
  readonly #options: CaddyEdgeOptions;
  readonly #log: Logger;
  readonly #api: AdminApi;
  readonly #proxy: NodeEdge;
  readonly #gate = new Gate();
  readonly #edgeSocket: SocketFile;
  readonly #gateSocket: SocketFile;
  #endKeeping: (() => Promise<void>) | null = null;
  #watch: NodeJS.Timeout | undefined;
  #displaced = false;

  constructor(options: CaddyEdgeOptions) {
    const { adminUrl, log, socketDir, port } = options;
    this.#options = options;
    this.#log = log;
    this.#api = new AdminApi(adminUrl);
    this.#edgeSocket = new SocketFile(join(socketDir, `${port}.sock`));
    this.#gateSocket = new SocketFile(join(socketDir, `${port}.gate.sock`));
    this.#proxy = new NodeEdge({ ...options, port: 0, behindProxy: true });
  }

  get figures(): Edge['figures'] {
    return this.#proxy.figures;
  }

  /** Configures Caddy and starts to accept requests. Throws `CaddyError`. */
  async listen(): Promise<void> {
    const { port, domain, tls } = this.#options;
    const sockets = { edge: this.#edgeSocket.path, gate: this.#gateSocket.path };
    const timeouts = { ...TIMEOUTS, ...this.#options.timeouts };
    await this.#warnOfOpenAdmin();
    // When the gate admits a request, the edge must already be listening.
    await this.#edgeSocket.publish((path) => this.#proxy.listen(path));
    await this.#gateSocket.publish((path) => this.#gate.listen(path));
    const parts = configParts({ domain, port, tls, sockets, timeouts });
    this.#endKeeping = await keepConfig(this.#api, parts, this.#log);
    this.#watch = setInterval(() => void this.#look(), POLL_INTERVAL_MS);
  }

  async apply(table: RouteTable, changed?: ReadonlySet<string>): Promise<void> {
    this.#gate.apply(table);
    await this.#proxy.apply(table, changed);
  }

  /** Stops serving. Caddy keeps its configuration, so that requests wait for the next edge process. */
  async close(): Promise<void> {
    clearInterval(this.#watch);
    await this.#endKeeping?.();
    await this.#gateSocket.withdraw();
    await delay(SETTLE_MS);
    await this.#gate.close();
    await delay(SETTLE_MS);
    await this.#edgeSocket.withdraw();
    await delay(SETTLE_MS);
    await this.#proxy.close();
  }

  /** Warns if other users may connect to the admin API, because they could redirect all requests. */
  async #warnOfOpenAdmin(): Promise<void> {
    const { adminUrl } = this.#options;
    const socket = socketPathOf(adminUrl);
    if (socket !== null) {
      const mode = (await stat(socket).catch(() => null))?.mode ?? 0;
      if ((mode & WRITABLE_BY_OTHERS) === 0) return;
    }
    this.#log.warn(
      `hosted applications on this host may reach Caddy's admin API at ${adminUrl}, and so read and change where requests go: let it listen on a Unix socket that only Caddy and the platform can open ("admin": {"listen": "unix//run/caddy/admin.sock"}), and set CADDY_ADMIN_URL to it`,
    );
  }

  async #look(): Promise<void> {
    try {
      const displaced = !((await this.#edgeSocket.isOurs()) && (await this.#gateSocket.isOurs()));
      if (displaced && !this.#displaced) {
        this.#log.error(
          `requests no longer come to this process: its socket ${this.#edgeSocket.path} was removed, or another edge process took its place. Restart this one, and give each edge process on this host an EDGE_PORT and a Caddy of its own`,
        );
      }
      this.#displaced = displaced;
    } catch (error) {
      this.#log.error(`the sockets of the edge cannot be looked at: ${errorMessage(error)}`);
    }
  }
}
