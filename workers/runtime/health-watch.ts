import type { Db } from '../../shared/core/database/client.js';
import type { ReplicaRow } from '../../shared/replicas/rows.js';
import { recordChecked, recordReady, recordUnhealthy } from '../../shared/replicas/store.js';
import { checkHealth } from './health-check.js';
import { CHECKS_KEPT, decideReadiness, hasSettled } from './readiness.js';
import type { ReleaseSpec } from './runtime-driver.js';

/** The readiness probe of one replica: runs a check when one is due and records what `decideReadiness` decides. */
export class HealthWatch {
  readonly #db: Db;
  readonly #edgeDomain: string;
  #checks: boolean[] = [];
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

  /** Forgets earlier checks, because a new attempt to run the replica begins. */
  begin(): void {
    this.#checks = [];
    this.#startedAt = Date.now();
    this.#nextCheckAt = 0;
  }

  /**
   * Runs a check if one is due. `ownsPort` resolves to false if another process listens on the replica's port; the check
   * then fails without a request to it.
   */
  async check(row: ReplicaRow, spec: ReleaseSpec, ownsPort: (port: number) => Promise<boolean>): Promise<void> {
    if (Date.now() < this.#nextCheckAt) return;
    const passed = await this.#passes(row, spec, ownsPort);
    this.#checks = [...this.#checks, passed].slice(-CHECKS_KEPT);
    const { state, port } = row;
    const { verdict, nextCheckMs } = decideReadiness({
      state,
      port,
      checks: this.#checks,
      upMs: Date.now() - this.#startedAt,
    });
    if (verdict === 'ready') await recordReady(this.#db, row);
    else if (verdict === 'unhealthy') await recordUnhealthy(this.#db, row);
    else if (state === 'ready') await recordChecked(this.#db, row);
    this.#nextCheckAt = Date.now() + nextCheckMs;
  }

  async #passes(row: ReplicaRow, spec: ReleaseSpec, ownsPort: (port: number) => Promise<boolean>): Promise<boolean> {
    const { address, port } = row;
    if (port === null) return hasSettled(this.#startedAt, Date.now());
    if (!(await ownsPort(port))) return false;
    const host = `${spec.slug}.${this.#edgeDomain}`;
    return (await checkHealth({ address, port, path: spec.configuration.healthCheckPath, host })).healthy;
  }
}
