import type { ReplicaRow } from '../../replicas/rows.js';
import type { HostAllowance } from '../log-allowance.js';
import { maskerOf, type RetainedRelease } from '../retained-release.js';
import { LogTail } from './log-tail.js';
import { OutputWatch } from './output-watch.js';
import type { ProcessRuntimeDeps } from './replica-sandbox.js';

/** Copies one replica's output to the log: when its file changes, and when a reconciliation asks for it. */
export class ReplicaOutput {
  readonly #deps: Pick<ProcessRuntimeDeps, 'db' | 'logs'>;
  readonly #file: string;
  readonly #release: RetainedRelease;
  readonly #share: HostAllowance;
  readonly #watch: OutputWatch;
  #tail: LogTail | null = null;
  #copying: Promise<unknown> = Promise.resolve();

  /** `current` returns the row as the last reconciliation saw it; null if there was none. */
  constructor(
    deps: Pick<ProcessRuntimeDeps, 'db' | 'logs'>,
    file: string,
    { release, share, current }: { release: RetainedRelease; share: HostAllowance; current: () => ReplicaRow | null },
  ) {
    this.#deps = deps;
    this.#file = file;
    this.#release = release;
    this.#share = share;
    this.#watch = new OutputWatch(file, async () => {
      const row = current();
      // If the process has ended meanwhile, a reconciliation copies the rest.
      if (row !== null && row.pid !== null && row.desired === 'running') await this.follow(row, false);
    });
  }

  /** True if changes of the file are noticed. */
  get isWatched(): boolean {
    return this.#watch.active;
  }

  watch(): void {
    this.#watch.open();
  }

  close(): void {
    this.#watch.close();
  }

  /**
   * Copies what is new. `final` means that the process has ended. Returns false if another supervisor has moved the mark
   * meanwhile. The next row that is read has the new mark.
   */
  follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    // One copy after the other: a reconciliation and a change of the file may come at the same time.
    const mine = this.#copying.then(() => this.#copy(row, final));
    this.#copying = mine.catch(() => undefined);
    return mine;
  }

  async #copy(row: ReplicaRow, final: boolean): Promise<boolean> {
    const { db, logs } = this.#deps;
    const spec = await this.#release.readable(row);
    // Without the release its secrets are unknown and cannot be masked, so the output stays out of the log.
    if (!spec) return true;
    this.#tail ??= new LogTail(db, logs, this.#file, maskerOf(spec), row.log_offset, this.#share);
    const ours = await this.#tail.follow(row, final);
    if (!ours) this.#tail = null;
    return ours;
  }
}
