import type { Db } from '../../shared/core/database/database-client.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import {
  acknowledgeRoutes,
  acknowledgeRoutesUpTo,
  type EdgeIdentity,
  loadAllRouteFacts,
  loadRouteFacts,
  reportEdge,
  routeVersionsSince,
  VERSION_OVERLAP,
} from '../../shared/routing/store.js';
import type { Edge } from './edge.js';
import { addRoutes, hostsByService, type Route, updateTable } from './route-table.js';
import { KnownRules } from './rules/known-rules.js';
import { SettledVersion } from './settled-version.js';

/** The edge polls for changed routes, because notifications may be lost. */
const CATCH_UP_MS = 5_000;
/** A reload of all routes finds changes that did not raise a route's version. */
const RELOAD_MS = 10 * 60_000;
const REPORT_MS = 2_000;
/** If more services than this must be reloaded, all services are loaded, page by page. */
const MAX_AT_ONCE = 500;

export interface RouteSyncOptions {
  db: Db;
  log: Logger;
  edge: Edge;
  identity: EdgeIdentity;
  domain: string;
}

interface Batch {
  ids: Set<string> | null;
  done: Promise<void>;
  finish: (error?: unknown) => void;
}

interface Loaded {
  versions: RouteVersion[];
  changed?: ReadonlySet<string>;
}

interface RouteVersion {
  serviceId: string;
  version: number;
}

/**
 * Reconciles an edge's table with PostgreSQL, and acknowledges which versions of routes the edge serves. Loads run one
 * after another, so that a route never returns to an older version. Calls of `reload` during a load share the next
 * load. While PostgreSQL cannot be reached, the edge serves the last table.
 */
export class RouteSync {
  readonly #options: RouteSyncOptions;
  /** Service id → the acknowledged version, if it is above `#acknowledgedUpTo`. */
  readonly #acknowledged = new Map<string, number>();
  /** Every route with at most this version is acknowledged. */
  #acknowledgedUpTo = 0;
  /** Service id → the applied version that is acknowledged once the requests of older versions have ended. */
  readonly #draining = new Map<string, number>();
  readonly #rules: KnownRules;
  #loaded = new Map<string, number>();
  #table = new Map<string, Route>();
  #hosts = new Map<string, readonly string[]>();
  #settled = new SettledVersion(0, 0);
  #next: Batch | null = null;
  #running: Promise<void> | null = null;
  #timers: NodeJS.Timeout[] = [];
  #reporting = false;
  #failing = false;
  #closed = false;

  constructor(options: RouteSyncOptions) {
    this.#options = options;
    this.#rules = new KnownRules(options.log);
  }

  /** Loads and applies all routes, and repeats that on timers. Throws if the first load fails. */
  async start(): Promise<void> {
    await this.#report();
    await this.reload(null);
    this.#settled = new SettledVersion(this.#newest(), performance.now());
    this.#timers = [
      setInterval(() => this.wake(null), CATCH_UP_MS),
      setInterval(() => void this.reload(null).catch((error) => this.#failed(error)), RELOAD_MS),
      setInterval(() => void this.#reportAgain(), REPORT_MS),
    ];
  }

  /** Reloads one service in the background. If `serviceId` is null, reloads all services whose routes have changed. */
  wake(serviceId: string | null): void {
    const loaded = serviceId === null ? this.#catchUp() : this.reload(serviceId);
    loaded.catch((error) => this.#failed(error));
  }

  /**
   * Reloads one service, or all services if `serviceId` is null. Resolves when routes that were read after this call
   * have been applied.
   */
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

  async #catchUp(): Promise<void> {
    if (this.#closed) return;
    const versions = await routeVersionsSince(this.#options.db, this.#settled.at(this.#newest(), performance.now()));
    const changed = versions.filter(({ serviceId, version }) => this.#loaded.get(serviceId) !== version);
    await Promise.all(changed.map(({ serviceId }) => this.reload(serviceId)));
  }

  async #run(): Promise<void> {
    // Calls in the same iteration of the event loop share one batch.
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
    // No `await` separates this from the check of `#next`, so that no call of `reload` is lost.
    this.#running = null;
  }

  async #load(ids: Set<string> | null): Promise<void> {
    const isMany = ids === null || ids.size > MAX_AT_ONCE;
    const { versions, changed } = isMany ? await this.#loadAll() : await this.#loadSome([...ids]);
    // `#acknowledge` acknowledges every version up to `upTo`. While a route drains, its version must not be
    // acknowledged, so `upTo` is 0.
    const upTo = isMany && this.#draining.size === 0 ? this.#newest() - VERSION_OVERLAP : 0;
    const applied = this.#options.edge.apply(this.#table, changed);
    const news = versions.filter(({ serviceId, version }) => version > Math.max(upTo, this.#known(serviceId)));
    for (const { serviceId, version } of news) this.#draining.set(serviceId, version);
    void applied.then(() => this.#acknowledge(news, upTo)).catch((error) => this.#failed(error));
  }

  async #loadAll(): Promise<Loaded> {
    const { db, domain } = this.#options;
    const table = new Map<string, Route>();
    const loaded = new Map<string, number>();
    await loadAllRouteFacts(db, async (facts, trx) => {
      await this.#rules.refresh(trx, facts);
      addRoutes(table, facts, { domain, previous: this.#table, rules: this.#rules.known });
      for (const { serviceId, version } of facts) loaded.set(serviceId, version);
    });
    this.#rules.keepOnly(loaded);
    this.#table = table;
    this.#hosts = hostsByService(table);
    this.#loaded = loaded;
    for (const id of this.#acknowledged.keys()) if (!loaded.has(id)) this.#acknowledged.delete(id);
    return { versions: [...loaded].map(([serviceId, version]) => ({ serviceId, version })) };
  }

  async #loadSome(ids: readonly string[]): Promise<Loaded> {
    const { db, domain } = this.#options;
    const facts = await loadRouteFacts(db, ids);
    await this.#rules.refresh(db, facts);
    const changed = updateTable(this.#table, this.#hosts, facts, { domain, rules: this.#rules.known });
    for (const { serviceId, version } of facts) this.#loaded.set(serviceId, version);
    return { versions: facts.map(({ serviceId, version }) => ({ serviceId, version })), changed };
  }

  #newest(): number {
    let newest = 0;
    for (const version of this.#loaded.values()) newest = Math.max(newest, version);
    return newest;
  }

  #known(serviceId: string): number {
    const [acknowledged = 0, draining = 0] = [this.#acknowledged.get(serviceId), this.#draining.get(serviceId)];
    return Math.max(this.#acknowledgedUpTo, acknowledged, draining);
  }

  async #acknowledge(news: readonly RouteVersion[], upTo: number): Promise<void> {
    if (this.#closed) return;
    try {
      if (upTo > this.#acknowledgedUpTo) await this.#acknowledgeUpTo(upTo);
      if (news.length === 0) return;
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

  async #acknowledgeUpTo(version: number): Promise<void> {
    const { db, identity } = this.#options;
    if (!(await acknowledgeRoutesUpTo(db, identity.id, version))) return;
    this.#acknowledgedUpTo = version;
    for (const [serviceId, own] of this.#acknowledged) if (own <= version) this.#acknowledged.delete(serviceId);
  }

  /** If PostgreSQL had no record of this edge, the edge's acknowledgements are missing too. */
  async #report(): Promise<void> {
    const fresh = await reportEdge(this.#options.db, this.#options.identity, this.#options.edge.figures);
    if (!fresh) return;
    this.#acknowledged.clear();
    this.#acknowledgedUpTo = 0;
    if (this.#timers.length > 0) void this.reload(null).catch((error) => this.#failed(error));
  }

  async #reportAgain(): Promise<void> {
    // Only one report runs at a time. If PostgreSQL hangs, reports must not use up all connections.
    if (this.#reporting) return;
    this.#reporting = true;
    await this.#report().catch((error) => this.#failed(error));
    this.#reporting = false;
  }

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
