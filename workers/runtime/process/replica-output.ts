import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaRow } from '../../replicas/rows.js';
import type { HostAllowance } from '../log-allowance.js';
import { maskerOf, type RetainedRelease } from '../retained-release.js';
import { LogTail } from './log-tail.js';
import type { ProcessRuntimeDeps } from './replica-sandbox.js';

/** Minimum and maximum delay before new output is copied. The delay grows during continuous output. */
const FIRST_MS = 8;
const LAST_MS = 250;

/** Returns the delay before the next copy. The last copy was `sinceMs` ago, after a delay of `waitMs`. */
export function nextWaitMs(sinceMs: number, waitMs: number): number {
  return sinceMs > waitMs * 2 ? FIRST_MS : Math.min(LAST_MS, waitMs * 2);
}

interface Options {
  release: RetainedRelease;
  share: HostAllowance;
  current: () => ReplicaRow | null;
}

/** Copies one replica's output to the log, soon after the file has changed. */
export class ReplicaOutput {
  readonly #deps: Pick<ProcessRuntimeDeps, 'db' | 'logs'>;
  readonly #file: string;
  readonly #options: Options;
  #tail: LogTail | null = null;
  #copying: Promise<unknown> = Promise.resolve();
  #watcher: FSWatcher | null = null;
  #hasChanged = false;
  #following = false;
  #waitMs = FIRST_MS;
  #copiedAt = 0;

  constructor(deps: Pick<ProcessRuntimeDeps, 'db' | 'logs'>, file: string, options: Options) {
    this.#deps = deps;
    this.#file = file;
    this.#options = options;
  }

  /** If false, only reconciliations copy the output. */
  get isWatched(): boolean {
    return this.#watcher !== null;
  }

  watch(): void {
    if (this.#watcher !== null) return;
    try {
      this.#watcher = watch(this.#file, { persistent: false }, () => {
        this.#hasChanged = true;
        void this.#followChanges();
      });
      this.#watcher.on('error', () => this.close());
    } catch {
      // Watching fails if the file does not exist yet, or at the system's limit of watches.
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** Returns false if another supervisor has advanced the stored offset; the caller must then read the row again. */
  follow(row: ReplicaRow, final: boolean): Promise<boolean> {
    // A reconciliation and a change of the file may call `follow` at the same time.
    const mine = this.#copying.then(() => this.#copy(row, final));
    this.#copying = mine.catch(() => undefined);
    return mine;
  }

  /** If a copy fails, the next reconciliation retries. */
  async #followChanges(): Promise<void> {
    if (this.#following) return;
    this.#following = true;
    while (this.#hasChanged && this.isWatched) {
      this.#waitMs = nextWaitMs(performance.now() - this.#copiedAt, this.#waitMs);
      await sleep(this.#waitMs, undefined, { ref: false });
      this.#hasChanged = false;
      const row = this.#options.current();
      // If the process has exited, a reconciliation copies the rest.
      const runs = this.isWatched && row !== null && row.pid !== null && row.desired === 'running';
      if (runs) await this.follow(row, false).catch(() => undefined);
      this.#copiedAt = performance.now();
    }
    this.#following = false;
  }

  async #copy(row: ReplicaRow, final: boolean): Promise<boolean> {
    const { release, share } = this.#options;
    const spec = await release.readable(row);
    // Without the release, its secrets cannot be masked.
    if (!spec) return true;
    this.#tail ??= new LogTail(this.#deps, row, { file: this.#file, masker: maskerOf(spec), share });
    const ours = await this.#tail.follow(final);
    if (!ours) this.#tail = null;
    return ours;
  }
}
