import { isRefusal, type Transaction } from '../../shared/core/database/database-client.js';
import type { LogLevel } from '../../shared/logs/model.js';
import { leftOut } from '../logs/log-sink.js';
import type { Masker } from '../masking/masker.js';
import type { ReplicaRow } from '../replicas/rows.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'logs'>;

interface OutputStoreOptions<Mark> {
  /** The output is stored in the log up to this position. */
  mark: Mark;
  masker: Masker;
  /** Resolves to false if the mark in the database is not `from`. */
  move: (trx: Transaction, from: Mark, to: Mark) => Promise<boolean>;
}

/**
 * Stores the masked output of one replica in its service's log. Each transaction stores lines and moves the mark past
 * them, so that each line is stored exactly once.
 */
export class OutputStore<Mark> {
  readonly #deps: Deps;
  readonly #row: ReplicaRow;
  readonly #options: OutputStoreOptions<Mark>;
  #mark: Mark;

  constructor(deps: Deps, row: ReplicaRow, options: OutputStoreOptions<Mark>) {
    this.#deps = deps;
    this.#row = row;
    this.#options = options;
    this.#mark = options.mark;
  }

  get mark(): Mark {
    return this.#mark;
  }

  /**
   * If the database refuses lines, stores a note in their place. Returns false if another worker has moved the mark;
   * this store must then not be used any more.
   */
  async append(texts: readonly string[], mark: Mark, level: LogLevel = 'info'): Promise<boolean> {
    const timestamp = new Date().toISOString();
    const lines = texts.map((text) => ({ level, message: this.#options.masker.mask(text), timestamp }));
    const { service_id: serviceId, deployment_id: deploymentId, run_id: runId } = this.#row;
    const batch = { serviceId, deploymentId, runId, source: 'runtime' as const, lines };
    const store = (stored: typeof batch) =>
      this.#deps.db.transaction(async (trx) => {
        if (!(await this.#options.move(trx, this.#mark, mark))) return false;
        if (stored.lines.length > 0) await this.#deps.logs.append(stored, trx);
        return true;
      });
    const stored = await store(batch).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      return store(leftOut(batch, error));
    });
    if (stored) this.#mark = mark;
    return stored;
  }
}
