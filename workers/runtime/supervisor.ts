import { CHANNELS } from '../../shared/core/database/listener.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { Leadership } from '../core/leadership.js';
import type { ReplicaRow } from '../replicas/rows.js';
import { replicasOfHost } from '../replicas/store.js';
import { applyReplacements } from './apply-replacements.js';
import { isSettled, planPass, retryDelayMs, SETTLED_POLL_MS } from './reconcile-plan.js';
import type { ReplicaController, SupervisedHost } from './replica-host.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'log' | 'hostId' | 'logs'>;

/**
 * Reconciles one host's replicas with the table `replicas`. One worker of a host leads: it holds a lock that the
 * database releases if the worker dies.
 */
export class Supervisor {
  readonly #deps: Deps;
  readonly #host: SupervisedHost;
  readonly #leadership: Leadership;
  readonly #controllers = new Map<string, ReplicaController>();
  readonly #busy = new Map<string, Promise<void>>();
  /** `failures` counts failed reconciliations in a row. */
  readonly #retries = new Map<string, { failures: number; at: number }>();
  #unlisten: () => void = () => undefined;
  #loop: Promise<void> = Promise.resolve();
  #closed = false;
  #notified = false;
  /** True if the last pass found nothing that has to be polled. */
  #settled = false;
  #sweptAt = 0;
  /** Reconciliations do not wait for a sweep, because it takes long if a process cannot be killed. */
  #sweeping: Promise<void> | null = null;
  #pausing: { end: number; resolve: () => void; timer: NodeJS.Timeout } | null = null;

  constructor(deps: Deps, host: SupervisedHost) {
    this.#deps = deps;
    this.#host = host;
    const name = `ranvier.host.${deps.hostId}`;
    this.#leadership = new Leadership(deps.config.databaseUrl.reveal(), name, deps.log, () => this.#onLeadership());
  }

  get leading(): boolean {
    return this.#leadership.leading;
  }

  async start(): Promise<void> {
    this.#unlisten = this.#deps.listener.on(CHANNELS.replica, (hostId) => {
      if (hostId === null || hostId === this.#deps.hostId) this.#wake();
    });
    await this.#leadership.start();
    this.#loop = this.#run();
  }

  /** Replicas keep running unless the whole platform stops. */
  async close(platformEnds: boolean): Promise<void> {
    this.#closed = true;
    this.#unlisten();
    this.#wake();
    await this.#loop;
    await Promise.all([...this.#busy.values(), this.#sweeping]);
    // Frozen processes cannot exit. A closed controller lets its processes run again.
    this.#drop([...this.#controllers.keys()]);
    const { db, hostId } = this.#deps;
    if (platformEnds && this.#leadership.leading) await this.#host.end?.(await replicasOfHost(db, hostId));
    await this.#leadership.close();
  }

  /** The controllers' state may be outdated after another worker has led. */
  #onLeadership(): void {
    this.#drop([...this.#controllers.keys()]);
    this.#host.forget?.();
    this.#sweptAt = 0;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      this.#notified = false;
      this.#settled = false;
      try {
        if (this.#leadership.leading) await this.#pass();
      } catch (error) {
        this.#deps.log.warn(
          { err: error },
          `the replicas of this host could not be reconciled: ${errorMessage(error)}`,
        );
      }
      await this.#pause();
    }
  }

  async #pass(): Promise<void> {
    const { db, hostId } = this.#deps;
    const rows = await replicasOfHost(db, hostId);
    await this.#host.observe?.(rows);
    await applyReplacements(this.#deps, rows, async (row) => (await this.#host.hasRoom?.(row)) ?? true);
    const now = Date.now();
    const observed = {
      rows: rows.map((row) => row.id),
      controlled: this.#controllers.keys(),
      busy: new Set(this.#busy.keys()),
      retries: this.#retries,
      sweptAt: this.#sweptAt,
      sweeping: this.#sweeping !== null,
    };
    const { sweep, drop, reconcile } = planPass(observed, now);
    if (sweep) this.#sweep(now);
    this.#drop(drop);
    const chosen = new Set(reconcile);
    for (const row of rows) {
      if (chosen.has(row.id) && this.#controllers.get(row.id)?.isIdle?.(row) !== true) this.#reconcile(row);
    }
    const isWatched = (row: ReplicaRow) => this.#controllers.get(row.id)?.isWatched?.(row) === true;
    this.#settled = this.#busy.size === 0 && rows.every((row) => isSettled(row) && isWatched(row));
  }

  /** If a sweep fails, the next one is due as usual. */
  #sweep(now: number): void {
    const { db, hostId, log } = this.#deps;
    this.#sweptAt = now;
    this.#sweeping = this.#host
      .sweep(() => replicasOfHost(db, hostId))
      .catch((error: unknown) => {
        log.warn({ err: error }, `the sweep of this host failed: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#sweeping = null;
      });
  }

  #drop(ids: readonly string[]): void {
    for (const id of ids) {
      this.#controllers.get(id)?.close?.();
      this.#controllers.delete(id);
      this.#retries.delete(id);
    }
  }

  #reconcile(row: ReplicaRow): void {
    const controller = this.#controllers.get(row.id) ?? this.#host.controller(row.id, () => this.#wake());
    this.#controllers.set(row.id, controller);
    const work = controller
      .reconcile(row)
      .then(() => {
        this.#retries.delete(row.id);
      })
      .catch((error: unknown) => {
        const failures = (this.#retries.get(row.id)?.failures ?? 0) + 1;
        this.#retries.set(row.id, { failures, at: Date.now() + retryDelayMs(failures) });
        this.#deps.log.warn({ replica: row.id, err: error }, `a replica was not reconciled: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#busy.delete(row.id);
        this.#wakeAt(this.#dueAt(row.id, controller));
      });
    this.#busy.set(row.id, work);
  }

  #dueAt(id: string, controller: ReplicaController): number {
    return this.#retries.get(id)?.at ?? controller.nextCheckAt;
  }

  #wake(): void {
    this.#notified = true;
    this.#wakeAt(0);
  }

  /** Ends the current pause at `time`, in milliseconds since the epoch, unless the pause ends earlier anyway. */
  #wakeAt(time: number): void {
    if (!this.#pausing || time >= this.#pausing.end) return;
    clearTimeout(this.#pausing.timer);
    this.#pausing.end = time;
    this.#pausing.timer = setTimeout(this.#pausing.resolve, Math.max(0, time - Date.now()));
  }

  async #pause(): Promise<void> {
    if (this.#notified || this.#closed) return;
    const now = Date.now();
    const due = [...this.#controllers]
      .map(([id, controller]) => this.#dueAt(id, controller))
      .filter((time) => time > now);
    const pollMs = this.#settled ? Math.max(this.#host.pollMs, SETTLED_POLL_MS) : this.#host.pollMs;
    const end = Math.min(now + pollMs, ...due);
    await new Promise<void>((resolve) => {
      this.#pausing = { end, resolve, timer: setTimeout(resolve, end - now) };
    });
    this.#pausing = null;
  }
}
