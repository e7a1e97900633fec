import type { Db } from '../../shared/db/client.js';
import { recordChecked, recordReady, recordUnhealthy } from '../../shared/db/replicas.js';
import type { ReplicaRow } from '../../shared/db/rows.js';
import type { ReleaseSpec } from './driver.js';
import { checkHealth } from './health.js';

/** Between the checks of a replica that comes up, of one that answered once, of one that fails, and of one that is well. */
const CHECK_MS = { starting: 100, proving: 200, failing: 1_000, ready: 5_000 };
/** A replica that listens nowhere is ready when it has stayed alive this long. */
const SETTLED_MS = 1_000;
const GOOD_CHECKS = 2;
const BAD_CHECKS = 2;

/** Checks one replica's health at the pace that its state asks for, and records what comes of it. */
export class HealthWatch {
  readonly #db: Db;
  readonly #edgeDomain: string;
  #good = 0;
  #bad = 0;
  #startedAt = 0;
  #nextCheckAt = 0;

  constructor(db: Db, edgeDomain: string) {
    this.#db = db;
    this.#edgeDomain = edgeDomain;
  }

  /** When the next check is due, in milliseconds since the epoch. */
  get nextCheckAt(): number {
    return this.#nextCheckAt;
  }

  /** A new attempt to run the replica begins. */
  begin(): void {
    this.#good = 0;
    this.#bad = 0;
    this.#startedAt = Date.now();
    this.#nextCheckAt = 0;
  }

  /** Checks if it is time to. `listens` confirms that an answer on the port came from this replica. */
  async look(row: ReplicaRow, spec: ReleaseSpec, listens: (port: number) => Promise<boolean>): Promise<void> {
    if (Date.now() < this.#nextCheckAt) return;
    const healthy = await this.#isHealthy(row, spec, listens);
    this.#good = healthy ? this.#good + 1 : 0;
    this.#bad = healthy ? 0 : this.#bad + 1;
    const good = this.#good >= (row.state === 'starting' && row.port !== null ? GOOD_CHECKS : 1);
    if (row.state !== 'ready') {
      if (good) await recordReady(this.#db, row);
    } else if (this.#bad >= BAD_CHECKS) await recordUnhealthy(this.#db, row);
    else await recordChecked(this.#db, row);
    this.#nextCheckAt = Date.now() + CHECK_MS[pace(row, healthy, good)];
  }

  async #isHealthy(row: ReplicaRow, spec: ReleaseSpec, listens: (port: number) => Promise<boolean>): Promise<boolean> {
    if (row.port === null) return Date.now() - this.#startedAt >= SETTLED_MS;
    const host = `${spec.slug}.${this.#edgeDomain}`;
    const path = spec.configuration.healthCheckPath;
    const { healthy } = await checkHealth({ address: row.address, port: row.port, path, host });
    return healthy && (row.state !== 'starting' || (await listens(row.port)));
  }
}

function pace(row: ReplicaRow, healthy: boolean, good: boolean): keyof typeof CHECK_MS {
  if (row.state === 'starting' && !good) return healthy ? 'proving' : 'starting';
  return healthy ? 'ready' : 'failing';
}
