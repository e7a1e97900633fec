import type { Db } from '../../shared/core/database/database-client.js';
import { CHANNELS, type Listener } from '../../shared/core/database/listener.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import type { WorkKind } from '../../shared/engine/kind.js';
import { type Lease, renewLeases } from '../../shared/engine/leases.js';
import { Interrupted } from '../failures/interruption-errors.js';

const RENEW_MS = 2000;

export interface HeldLease extends Lease {
  /** Aborts with `Interrupted`: `cancelled` if a cancellation was requested, `superseded` if the lease is lost. */
  readonly signal: AbortSignal;
  /** Stops renewing. The lease stays until it expires or is released in the database. */
  stop(): void;
}

interface Entry {
  kind: WorkKind;
  lease: Lease;
  controller: AbortController;
}

/** Renews all leases of this process every two seconds, and notices cancellations and lost leases. */
export class LeaseKeeper {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;

  constructor(db: Db, listener: Listener, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#timer = setInterval(() => void this.#renew('all'), RENEW_MS);
    this.#unsubscribe = listener.on(CHANNELS.cancel, (id) => {
      if (id === null || this.#entries.has(id)) void this.#renew(id ?? 'all');
    });
  }

  /** Starts renewing the lease of a record that this process has claimed. */
  hold(kind: WorkKind, lease: Lease): HeldLease {
    const entry: Entry = { kind, lease, controller: new AbortController() };
    this.#entries.set(lease.id, entry);
    return {
      ...lease,
      signal: entry.controller.signal,
      stop: () => {
        if (this.#entries.get(lease.id) === entry) this.#entries.delete(lease.id);
      },
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#unsubscribe();
  }

  async #renew(which: string): Promise<void> {
    const entries = [...this.#entries.values()].filter(({ lease }) => which === 'all' || lease.id === which);
    try {
      for (const kind of new Set(entries.map((entry) => entry.kind))) {
        await this.#renewKind(
          kind,
          entries.filter((entry) => entry.kind === kind),
        );
      }
    } catch (error) {
      // Work may go on without renewals: every write checks the fence, so it fails once the lease is lost.
      this.#log.warn(`cannot renew leases: ${errorMessage(error)}`);
    }
  }

  async #renewKind(kind: WorkKind, entries: readonly Entry[]): Promise<void> {
    const held = await renewLeases(
      this.#db,
      kind,
      entries.map(({ lease }) => lease),
    );
    for (const { lease, controller } of entries) {
      const hold = held.get(lease.id);
      if (!hold) controller.abort(new Interrupted('superseded'));
      else if (hold.cancelRequested) controller.abort(new Interrupted('cancelled'));
    }
  }
}
