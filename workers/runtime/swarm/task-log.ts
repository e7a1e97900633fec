import { setTimeout as sleep } from 'node:timers/promises';
import { advanceTaskLog } from '../../../shared/db/swarm-tasks.js';
import type { LogLine } from '../../../shared/domain/log.js';
import { errorMessage } from '../../../shared/errors.js';
import type { Masker } from '../../../shared/secrets/mask.js';
import { LineSplitter } from '../../sandbox/lines.js';
import { LogAllowance } from '../allowance.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { followOutput, type Output, readOutput } from './task-output.js';

type Deps = Pick<SwarmRuntimeDeps, 'engine' | 'db' | 'logs' | 'log'>;

const RETRY_MS = 1_000;
const NEWLINE = 0x0a;

/** The task of a replica whose output goes into the log, and how far it has. */
export interface LoggedTask {
  replicaId: string;
  serviceId: string;
  deploymentId: string;
  taskId: string;
  since: string | null;
}

/**
 * Brings one task's output into the log, from the mark in the database on. Each line is stored in the transaction that moves
 * the mark, so whoever follows next goes on behind it.
 */
export class TaskLog {
  readonly taskId: string;
  readonly #deps: Deps;
  readonly #task: LoggedTask;
  readonly #masker: Masker;
  readonly #splitters: Record<Output['stream'], LineSplitter>;
  readonly #unfinished = new Set<Output['stream']>();
  readonly #allowance = new LogAllowance();
  readonly #closing = new AbortController();
  #mark: string | null;
  #following: Promise<void> | null = null;
  #retryAt = 0;
  #lost = false;

  constructor(deps: Deps, task: LoggedTask, masker: Masker) {
    this.#deps = deps;
    this.#task = task;
    this.taskId = task.taskId;
    this.#masker = masker;
    this.#mark = task.since;
    this.#splitters = { stdout: new LineSplitter(masker), stderr: new LineSplitter(masker) };
  }

  /** Somebody else has moved the mark: this process follows no more. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Sees to it that the output is followed, also where the connection to the engine broke. */
  follow(): void {
    if (this.#following || this.#closing.signal.aborted || Date.now() < this.#retryAt) return;
    this.#following = this.#follow()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        const { taskId } = this.#task;
        this.#deps.log.debug({ taskId }, `the output of a task is followed again: ${errorMessage(error)}`);
      })
      .finally(() => {
        this.#following = null;
        this.#retryAt = Date.now() + RETRY_MS;
      });
  }

  /** The task has ended: takes in the rest of its output. Where nobody can give it any more, what came before is all. */
  async finish(): Promise<void> {
    await this.close();
    if (this.#lost) return;
    try {
      await this.#store(await readOutput(this.#deps.engine, this.taskId, { since: this.#mark }));
    } catch (error) {
      const { taskId } = this.#task;
      this.#deps.log.debug({ taskId }, `the last output of a task is not to be had: ${errorMessage(error)}`);
    }
    const rest = [...this.#splitters.stdout.end(), ...this.#splitters.stderr.end()];
    if (!this.#lost && rest.length > 0) await this.#append(rest, this.#mark);
  }

  /** Follows no more; what comes from now on is for the next one who does. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for await (const output of followOutput(this.#deps.engine, this.taskId, this.#mark, signal)) {
      await this.#store(output);
      if (this.#lost) return;
      const wait = this.#allowance.waitMs();
      if (wait > 0) await sleep(wait, undefined, { signal });
    }
  }

  async #store(outputs: readonly Output[]): Promise<void> {
    const lines: string[] = [];
    let mark = this.#mark;
    for (const { stream, timestamp, bytes } of outputs) {
      lines.push(...this.#splitters[stream].push(bytes));
      this.#allowance.take(bytes.length);
      if (bytes.at(-1) === NEWLINE) this.#unfinished.delete(stream);
      else this.#unfinished.add(stream);
      // What has begun only is read again by whoever follows next.
      if (this.#unfinished.size === 0) mark = timestamp;
    }
    if (mark !== this.#mark || lines.length > 0) await this.#append(lines, mark);
  }

  async #append(texts: readonly string[], mark: string | null): Promise<void> {
    const { replicaId, serviceId, deploymentId, taskId } = this.#task;
    const timestamp = new Date().toISOString();
    const lines = texts.map((text): LogLine => ({ level: 'info', message: this.#masker.mask(text), timestamp }));
    const stored = await this.#deps.db.transaction(async (trx) => {
      if (!(await advanceTaskLog(trx, replicaId, taskId, this.#mark, mark))) return false;
      if (lines.length > 0) await this.#deps.logs.append({ serviceId, deploymentId, source: 'runtime', lines }, trx);
      return true;
    });
    if (stored) this.#mark = mark;
    else this.#lost = true;
  }
}
