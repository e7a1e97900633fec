import { setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, type Transaction } from '../../../shared/core/database/client.js';
import { errorMessage } from '../../../shared/core/errors.js';
import type { LogLine } from '../../../shared/logs/model.js';
import { BATCH_LINES } from '../../logs/batch-store.js';
import { leftOut } from '../../logs/log-sink.js';
import type { Masker } from '../../masking/mask.js';
import { advanceTaskLog } from '../../replicas/swarm-tasks.js';
import { LineSplitter } from '../../sandbox/line-splitter.js';
import { type HostAllowance, LogAllowance } from '../log-allowance.js';
import type { SwarmRuntimeDeps } from './swarm-services.js';
import { followOutput, type Output, readOutput } from './task-output.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'db' | 'logs' | 'log'>;

const RETRY_MS = 1_000;
/** The most lines that are copied after a task has ended. */
const MAX_FINAL_LINES = 50_000;
const NEWLINE = 0x0a;

/** A task whose output is copied to the log; `since` is the time of the last line that was. */
export interface LoggedTask {
  replicaId: string;
  serviceId: string;
  deploymentId: string;
  runId: string | null;
  taskId: string;
  since: string | null;
}

/**
 * Copies one task's output to the log, from the mark in the database on. Lines are stored in the transaction that moves the
 * mark, so another worker continues exactly behind them.
 */
export class TaskLog {
  readonly taskId: string;
  readonly #deps: Deps;
  readonly #task: LoggedTask;
  readonly #masker: Masker;
  readonly #splitters: Record<Output['stream'], LineSplitter>;
  readonly #unfinished = new Set<Output['stream']>();
  readonly #allowance: LogAllowance;
  readonly #closing = new AbortController();
  #mark: string | null;
  #following: Promise<void> | null = null;
  #retryAt = 0;
  #lost = false;

  constructor(deps: Deps, task: LoggedTask, masker: Masker, share?: HostAllowance) {
    this.#allowance = new LogAllowance(share);
    this.#deps = deps;
    this.#task = task;
    this.taskId = task.taskId;
    this.#masker = masker;
    this.#mark = task.since;
    this.#splitters = { stdout: new LineSplitter(masker), stderr: new LineSplitter(masker) };
  }

  /** True if another process has moved the mark. This object must then not be used any more. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Starts to follow the output in the background unless it is followed; starts again if the connection broke. */
  follow(): void {
    if (this.#following || this.#closing.signal.aborted || Date.now() < this.#retryAt) return;
    this.#following = this.#follow()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        const { taskId } = this.#task;
        this.#deps.log.debug(
          { taskId },
          `following the output of a task failed and is tried again: ${errorMessage(error)}`,
        );
      })
      .finally(() => {
        this.#following = null;
        this.#retryAt = Date.now() + RETRY_MS;
      });
  }

  /** Copies the rest of the output of a task that has ended. If it cannot be read any more, it is left out. */
  async finish(): Promise<void> {
    await this.close();
    if (this.#lost) return;
    try {
      const rest = await readOutput(this.#deps.engine, this.taskId, { since: this.#mark });
      const kept = rest.slice(-MAX_FINAL_LINES);
      if (kept.length < rest.length) await this.#say(`${rest.length - kept.length} lines of output are left out here`);
      for (let at = 0; at < kept.length && !this.#lost; at += BATCH_LINES)
        await this.#store(kept.slice(at, at + BATCH_LINES));
    } catch (error) {
      const { taskId } = this.#task;
      this.#deps.log.debug({ taskId }, `the last output of a task cannot be read: ${errorMessage(error)}`);
    }
    const rest = [...this.#splitters.stdout.end(), ...this.#splitters.stderr.end()];
    if (!this.#lost && rest.length > 0) await this.#append(rest, this.#mark);
  }

  /** Stops following. Another worker can continue at the mark. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for await (const output of followOutput(this.#deps.engine, this.taskId, this.#mark, signal)) {
      for (let at = 0; at < output.length; at += BATCH_LINES) {
        await this.#store(output.slice(at, at + BATCH_LINES));
        if (this.#lost) return;
        const wait = this.#allowance.waitMs();
        if (wait > 0) await sleep(wait, undefined, { signal });
      }
    }
  }

  async #store(outputs: readonly Output[]): Promise<void> {
    const lines: string[] = [];
    let mark = this.#mark;
    for (const { stream, timestamp, bytes } of outputs) {
      lines.push(...this.#splitters[stream].push(bytes));
      this.#allowance.take(bytes.length, 1);
      if (bytes.at(-1) === NEWLINE) this.#unfinished.delete(stream);
      else this.#unfinished.add(stream);
      // The mark stays before a line that is incomplete, so that the next reader gets the whole line.
      if (this.#unfinished.size === 0) mark = timestamp;
    }
    if (mark !== this.#mark || lines.length > 0) await this.#append(lines, mark);
  }

  async #append(texts: readonly string[], mark: string | null): Promise<void> {
    const timestamp = new Date().toISOString();
    await this.#move(
      texts.map((text): LogLine => ({ level: 'info', message: this.#masker.mask(text), timestamp })),
      mark,
    );
  }

  async #say(message: string): Promise<void> {
    await this.#move([{ level: 'warn', message, timestamp: new Date().toISOString() }], this.#mark);
  }

  /** Stores lines and moves the mark in one transaction. */
  async #move(lines: LogLine[], mark: string | null): Promise<void> {
    const { replicaId, serviceId, deploymentId, runId, taskId } = this.#task;
    const batch = { serviceId, deploymentId, runId, source: 'runtime' as const, lines };
    const store = (stored: typeof batch) =>
      this.#deps.db.transaction(async (trx: Transaction) => {
        if (!(await advanceTaskLog(trx, replicaId, taskId, this.#mark, mark))) return false;
        if (stored.lines.length > 0) await this.#deps.logs.append(stored, trx);
        return true;
      });
    const moved = await store(batch).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      return store(leftOut(batch, error));
    });
    if (moved) this.#mark = mark;
    else this.#lost = true;
  }
}
