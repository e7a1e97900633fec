import { Leadership } from '../../shared/db/leadership.js';
import { CHANNELS } from '../../shared/db/listener.js';
import { replicasOfHost } from '../../shared/db/replicas.js';
import type { ReplicaRow } from '../../shared/db/rows.js';
import { errorMessage } from '../../shared/errors.js';
import type { ReplicaRuntimeDeps } from './deps.js';

const SWEEP_MS = 60_000;

/** Looks after one replica: each call of `step` does what its row asks for now. */
export interface Keeper {
  /** When the replica wants to be looked at again, in milliseconds since the epoch. */
  readonly nextCheckAt: number;
  step(row: ReplicaRow): Promise<void>;
  /** Lets go of what it follows: the replica is gone, or somebody else's to look after. */
  close?(): void;
}

/** How one kind of host keeps replicas. */
export interface Household {
  /** How long the table goes unread where nobody rings, in milliseconds. */
  readonly tickMs: number;
  keeper(id: string, wake: () => void): Keeper;
  /** Takes in how things stand, before the replicas are looked at one by one. */
  survey?(): Promise<void>;
  /** Ends what belongs to no replica of the table; those under way may be newer than the rows. */
  sweep(rows: readonly ReplicaRow[], underWay: readonly string[]): Promise<void>;
  /** The platform ends as a whole. */
  end?(rows: readonly ReplicaRow[]): Promise<void>;
}

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'listener' | 'config' | 'log' | 'hostId'>;

/**
 * Makes a host what the `replicas` table asks for. One worker of a host leads, by a lock that dies with it; signal and timer
 * run the same path, and every write names the attempt it belongs to.
 */
export class Supervisor {
  readonly #deps: Deps;
  readonly #household: Household;
  readonly #leadership: Leadership;
  readonly #keepers = new Map<string, Keeper>();
  readonly #busy = new Map<string, Promise<void>>();
  #unlisten: () => void = () => undefined;
  #loop: Promise<void> = Promise.resolve();
  #closed = false;
  #rung = false;
  #sweptAt = 0;
  #pausing: { end: number; resolve: () => void; timer: NodeJS.Timeout } | null = null;

  constructor(deps: Deps, household: Household) {
    this.#deps = deps;
    this.#household = household;
    const name = `ranvier.host.${deps.hostId}`;
    this.#leadership = new Leadership(deps.config.databaseUrl.reveal(), name, deps.log, () => this.#taken());
  }

  /** Begins to compete for this host. */
  async start(): Promise<void> {
    this.#unlisten = this.#deps.listener.on(CHANNELS.replica, (hostId) => {
      if (hostId === null || hostId === this.#deps.hostId) this.#wake();
    });
    await this.#leadership.start();
    this.#loop = this.#run();
  }

  /** Ends what is under way and lets the host go; its replicas run on, unless the platform ends as a whole. */
  async close(platformEnds: boolean): Promise<void> {
    this.#closed = true;
    this.#unlisten();
    this.#wake();
    await this.#loop;
    await Promise.all(this.#busy.values());
    const { db, hostId } = this.#deps;
    if (platformEnds && this.#leadership.leading) await this.#household.end?.(await replicasOfHost(db, hostId));
    await this.#leadership.close();
    this.#forget([...this.#keepers.keys()]);
  }

  /** A new leader knows nothing: what it finds in the table and on the host is all there is. */
  #taken(): void {
    this.#forget([...this.#keepers.keys()]);
    this.#sweptAt = 0;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      this.#rung = false;
      try {
        if (this.#leadership.leading) await this.#tick();
      } catch (error) {
        this.#deps.log.warn({ err: error }, `the supervisor of this host could not look: ${errorMessage(error)}`);
      }
      await this.#pause();
    }
  }

  async #tick(): Promise<void> {
    const rows = await replicasOfHost(this.#deps.db, this.#deps.hostId);
    await this.#household.survey?.();
    if (Date.now() - this.#sweptAt > SWEEP_MS) {
      await this.#household.sweep(rows, [...this.#busy.keys()]);
      this.#sweptAt = Date.now();
    }
    const present = new Set(rows.map((row) => row.id));
    this.#forget([...this.#keepers.keys()].filter((id) => !present.has(id) && !this.#busy.has(id)));
    for (const row of rows) if (!this.#busy.has(row.id)) this.#look(row);
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.#keepers.get(id)?.close?.();
      this.#keepers.delete(id);
    }
  }

  #look(row: ReplicaRow): void {
    const keeper = this.#keepers.get(row.id) ?? this.#household.keeper(row.id, () => this.#wake());
    this.#keepers.set(row.id, keeper);
    const work = keeper
      .step(row)
      .catch((error: unknown) => {
        this.#deps.log.warn({ replica: row.id, err: error }, `a replica was not looked after: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#busy.delete(row.id);
        this.#lookAt(keeper.nextCheckAt);
      });
    this.#busy.set(row.id, work);
  }

  #wake(): void {
    this.#rung = true;
    this.#lookAt(0);
  }

  /** Sees to it that the pause under way ends at this time, if it would last longer. */
  #lookAt(time: number): void {
    if (!this.#pausing || time >= this.#pausing.end) return;
    clearTimeout(this.#pausing.timer);
    this.#pausing.end = time;
    this.#pausing.timer = setTimeout(this.#pausing.resolve, Math.max(0, time - Date.now()));
  }

  /** Until somebody rings, a check is due, or the tick has passed. */
  async #pause(): Promise<void> {
    if (this.#rung || this.#closed) return;
    const now = Date.now();
    const due = [...this.#keepers.values()].map((keeper) => keeper.nextCheckAt).filter((time) => time > now);
    const end = Math.min(now + this.#household.tickMs, ...due);
    await new Promise<void>((resolve) => {
      this.#pausing = { end, resolve, timer: setTimeout(resolve, end - now) };
    });
    this.#pausing = null;
  }
}
