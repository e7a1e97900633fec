import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { LogLevel } from '../../../shared/logs/model.js';
import { BATCH_LINES } from '../../logs/batch-store.js';
import type { Masker } from '../../masking/masker.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import { advanceTaskLog } from '../../replicas/swarm-task-store.js';
import { LineSplitter } from '../../sandbox/line-splitter.js';
import { type HostAllowance, LogAllowance } from '../log-allowance.js';
import { OutputStore } from '../output-store.js';
import type { SwarmRuntimeDeps } from './swarm-services.js';
import { followOutput, type Output, readOutput } from './task-output.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'db' | 'logs' | 'log'>;

const RETRY_MS = 1_000;
const MAX_FINAL_LINES = 50_000;
const NEWLINE = 0x0a;

/**
 * Copies the output of a replica's task to the service's log. Starts at the mark, which is the time of the last copied
 * output.
 */
export class TaskLog {
  readonly taskId: string;
  readonly #deps: Deps;
  readonly #store: OutputStore<string | null>;
  readonly #splitters: Record<Output['stream'], LineSplitter>;
  readonly #unfinished = new Set<Output['stream']>();
  readonly #allowance: LogAllowance;
  readonly #closing = new AbortController();
  #following: Promise<void> | null = null;
  #retryAt = 0;
  #lost = false;

  constructor(deps: Deps, row: ReplicaRow & { task_id: string }, masker: Masker, share: HostAllowance) {
    this.#allowance = new LogAllowance(share);
    this.#deps = deps;
    this.taskId = row.task_id;
    const move = (trx: Transaction, from: string | null, to: string | null) =>
      advanceTaskLog(trx, row.id, row.task_id, from, to);
    this.#store = new OutputStore(deps, row, { masker, mark: row.log_since, move });
    this.#splitters = { stdout: new LineSplitter(masker), stderr: new LineSplitter(masker) };
  }

  /** True if another worker copies the output of this task. This object must then not be used any more. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Does nothing if the output is followed already. Must be called again if the connection breaks. */
  follow(): void {
    if (this.#following || this.#closing.signal.aborted || Date.now() < this.#retryAt) return;
    this.#following = this.#follow()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#deps.log.debug(
          { taskId: this.taskId },
          `following the output of a task failed and is tried again: ${errorMessage(error)}`,
        );
      })
      .finally(() => {
        this.#following = null;
        this.#retryAt = Date.now() + RETRY_MS;
      });
  }

  /** Copies the rest of an ended task's output, if the output can still be read. */
  async finish(): Promise<void> {
    await this.close();
    if (this.#lost) return;
    try {
      const rest = await readOutput(this.#deps.engine, this.taskId, { since: this.#store.mark });
      const kept = rest.slice(-MAX_FINAL_LINES);
      const missing = rest.length - kept.length;
      if (missing > 0) await this.#append([`${missing} lines of output are left out here`], undefined, 'warn');
      for (let at = 0; at < kept.length && !this.#lost; at += BATCH_LINES) {
        await this.#take(kept.slice(at, at + BATCH_LINES));
      }
    } catch (error) {
      this.#deps.log.debug({ taskId: this.taskId }, `the last output of a task cannot be read: ${errorMessage(error)}`);
    }
    const rest = [...this.#splitters.stdout.end(), ...this.#splitters.stderr.end()];
    if (!this.#lost && rest.length > 0) await this.#append(rest);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for await (const output of followOutput(this.#deps.engine, this.taskId, this.#store.mark, signal)) {
      for (let at = 0; at < output.length; at += BATCH_LINES) {
        await this.#take(output.slice(at, at + BATCH_LINES));
        if (this.#lost) return;
        const wait = this.#allowance.waitMs();
        if (wait > 0) await sleep(wait, undefined, { signal });
      }
    }
  }

  async #take(outputs: readonly Output[]): Promise<void> {
    const lines: string[] = [];
    let { mark } = this.#store;
    for (const { stream, timestamp, bytes } of outputs) {
      lines.push(...this.#splitters[stream].push(bytes));
      this.#allowance.take(bytes.length, 1);
      if (bytes.at(-1) === NEWLINE) this.#unfinished.delete(stream);
      else this.#unfinished.add(stream);
      // Copying continues at `mark` after a restart, and must read an incomplete line again from its start.
      if (this.#unfinished.size === 0) mark = timestamp;
    }
    if (mark !== this.#store.mark || lines.length > 0) await this.#append(lines, mark);
  }

  async #append(texts: readonly string[], mark = this.#store.mark, level: LogLevel = 'info'): Promise<void> {
    if (!(await this.#store.append(texts, mark, level))) this.#lost = true;
  }
}
