import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import {
  acknowledgeRoutes,
  type EdgeIdentity,
  loadRouteFacts,
  type RouteFacts,
  reportEdge,
} from '../../shared/routing/store.js';
import type { Edge } from './edge.js';
import { type RouteTable, tableOf, updatedTable } from './route-table.js';

const RELOAD_MS = 5_000;
const REPORT_MS = 2_000;

export interface RouteSyncOptions {
  db: Db;
  log: Logger;
  edge: Edge;
  identity: EdgeIdentity;
  domain: string;
}

interface Batch {
  /** The services to load; null for all. */
  ids: Set<string> | null;
  done: Promise<void>;
  finish: (error?: unknown) => void;
}

/**
 * Reconciles an edge's table with PostgreSQL, and acknowledges there which version of each service's route the edge
 * serves. Loads run one after the other, so a route never goes back. Requests that arrive during a load share the next
 * one. While PostgreSQL cannot be reached, the edge serves the last table.
 */
export class RouteSync {
  readonly #options: RouteSyncOptions;
  readonly #acknowledged = new Map<string, number>();
  /** Service → the applied version that waits until requests of older versions have ended. */
  readonly #draining = new Map<string, number>();
  #table: RouteTable = new Map();
  #next: Batch | null = null;
  #running: Promise<void> | null = null;
  #timers: NodeJS.Timeout[] = [];
  #reporting = false;
  #failing = false;
  #closed = false;

  constructor(options: RouteSyncOptions) {
    this.#options = options;
  }

  /** Records the edge, and loads and applies all routes. Throws if that fails. Then repeats both on timers. */
  async start(): Promise<void> {
    await this.#report();
    await this.reload(null);
    this.#timers = [
      setInterval(() => this.wake(null), RELOAD_MS),
      setInterval(() => void this.#reportAgain(), REPORT_MS),
    ];
  }

  /** Loads and applies one service's route (or all, on null) in the background. */
  wake(serviceId: string | null): void {
    this.reload(serviceId).catch((error) => this.#failed(error));
  }

  /** Resolves when a state that was read after this call is applied. Concurrent callers share one query. */
  reload(serviceId: string | null): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#next ??= newBatch();
    if (serviceId === null) this.#next.ids = null;
    else this.#next.ids?.add(serviceId);
    const { done } = this.#next;
    this.#running ??= this.#run();
    return done;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    // Requests in the same turn of the event loop share one batch.
    await Promise.resolve();
    for (let batch = this.#next; batch !== null; batch = this.#next) {
      this.#next = null;
      try {
        await this.#load(batch.ids);
        if (this.#failing) this.#options.log.info('routes are loaded from PostgreSQL again');
        this.#failing = false;
        batch.finish();
      } catch (error) {
        batch.finish(error);
      }
    }
    // Set in the same turn of the event loop as the check of `#next`, so that no request is lost in between.
    this.#running = null;
  }

  async #load(ids: Set<string> | null): Promise<void> {
    const { db, domain, edge } = this.#options;
    const facts = await loadRouteFacts(db, ids === null ? undefined : [...ids]);
    this.#table = ids === null ? tableOf(facts, domain, this.#table) : updatedTable(this.#table, facts, domain);
    const applied = edge.apply(this.#table);
    const news = facts.filter((f) => f.version > this.#known(f.serviceId));
    if (ids === null) this.#forgetOthers(facts);
    for (const { serviceId, version } of news) this.#draining.set(serviceId, version);
    void applied.then(() => this.#acknowledge(news)).catch((error) => this.#failed(error));
  }

  #known(serviceId: string): number {
    return Math.max(this.#acknowledged.get(serviceId) ?? 0, this.#draining.get(serviceId) ?? 0);
  }

  #forgetOthers(facts: readonly RouteFacts[]): void {
    const present = new Set(facts.map((f) => f.serviceId));
    for (const id of this.#acknowledged.keys()) if (!present.has(id)) this.#acknowledged.delete(id);
  }

  async #acknowledge(news: readonly RouteFacts[]): Promise<void> {
    if (news.length === 0 || this.#closed) return;
    try {
      const recorded = new Set(await acknowledgeRoutes(this.#options.db, this.#options.identity.id, news));
      for (const { serviceId, version } of news.filter((f) => recorded.has(f.serviceId))) {
        this.#acknowledged.set(serviceId, Math.max(version, this.#acknowledged.get(serviceId) ?? 0));
      }
    } finally {
      for (const { serviceId, version } of news) {
        if (this.#draining.get(serviceId) === version) this.#draining.delete(serviceId);
      }
    }
  }

  /**
   * Reports the edge. If PostgreSQL had no record of it, its acknowledgements are missing too, and all are sent again.
   */
  async #report(): Promise<void> {
    const fresh = await reportEdge(this.#options.db, this.#options.identity, this.#options.edge.figures);
    if (!fresh) return;
    this.#acknowledged.clear();
    if (this.#timers.length > 0) this.wake(null);
  }

  async #reportAgain(): Promise<void> {
    // One report at a time: if PostgreSQL hangs, reports must not use up all connections.
    if (this.#reporting) return;
    this.#reporting = true;
    await this.#report().catch((error) => this.#failed(error));
    this.#reporting = false;
  }

  /** Logs once that PostgreSQL cannot be reached, and not for each attempt. */
  #failed(error: unknown): void {
    if (this.#closed || this.#failing) return;
    this.#failing = true;
    this.#options.log.error(`serving from memory, PostgreSQL cannot be asked for routes: ${errorMessage(error)}`);
  }
}

function newBatch(): Batch {
  let finish: Batch['finish'] = () => undefined;
  const done = new Promise<void>((resolve, reject) => {
    finish = (error) => (error === undefined ? resolve() : reject(error));
  });
  return { ids: new Set(), done, finish };
}
