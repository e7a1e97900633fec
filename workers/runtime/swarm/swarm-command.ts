import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateServiceOptions } from 'dockerode';
import { limitsOf } from '../../../shared/services/plan-catalog.js';
import { LastLines } from '../../core/last-lines.js';
import { unlessGone } from '../../docker/docker-engine.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { LineSplitter } from '../../sandbox/line-splitter.js';
import { commandMessage, SEARCHED_LINES } from '../failure-text.js';
import { maskerOf } from '../retained-release.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import type { SwarmContext } from './service-spec.js';
import { createService, removeService, type SwarmRuntimeDeps } from './swarm-services.js';
import { hasEnded, type SwarmTask } from './swarm-view.js';
import { taskEnd } from './task-end.js';
import { followOutput, type Output, readOutput } from './task-output.js';

const POLL_MS = 250;
/** How long Swarm may take to stop a task, in addition to the grace period. */
const STOP_SLACK_MS = 10_000;

interface CommandOptions {
  signal: AbortSignal;
  timeoutMs: number;
  onLine: (line: string) => Promise<void>;
}

export interface OneTask {
  name: string;
  command: string;
  describe: (context: SwarmContext) => CreateServiceOptions;
}

export type CommandDeps = Pick<SwarmRuntimeDeps, 'engine' | 'registry' | 'installation' | 'config' | 'log'>;

/** Runs a task until it ends. Throws `ReleaseError` if the task fails, or the signal's reason if it is aborted. */
export async function runTask(
  deps: CommandDeps,
  spec: ReleaseSpec,
  task: OneTask,
  options: CommandOptions,
): Promise<SwarmTask> {
  const run = new TaskRun(deps, spec, task, options);
  // A worker that died may have left a service with this name, and `createService` would then create none.
  await run.remove();
  try {
    return await run.run();
  } finally {
    await run.remove();
  }
}

class TaskRun {
  readonly #deps: CommandDeps;
  readonly #spec: ReleaseSpec;
  readonly #task: OneTask;
  readonly #options: CommandOptions;
  readonly #output = new LastLines(SEARCHED_LINES);
  readonly #masker;
  readonly #splitters;
  #mark: string | null = null;

  constructor(deps: CommandDeps, spec: ReleaseSpec, task: OneTask, options: CommandOptions) {
    this.#deps = deps;
    this.#spec = spec;
    this.#task = task;
    this.#options = options;
    this.#masker = maskerOf(spec);
    this.#splitters = { stdout: new LineSplitter(this.#masker), stderr: new LineSplitter(this.#masker) };
  }

  async run(): Promise<SwarmTask> {
    const { signal, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const deadline = Date.now() + timeoutMs;
    await createService(this.#deps, this.#spec, this.#task.describe);
    const begun = await this.#until(
      (task) => hasEnded(task) || task.Status.State === 'running',
      Math.min(deadline, Date.now() + this.#deps.config.releaseTimeoutSeconds * 1000),
    );
    if (!hasEnded(begun)) await this.#follow(begun.ID, deadline);
    const ended = await this.#until(hasEnded, deadline);
    await this.#take(await readOutput(this.#deps.engine, ended.ID, { since: this.#mark }));
    for (const line of [...this.#splitters.stdout.end(), ...this.#splitters.stderr.end()]) await this.#say(line);
    if (ended.Status.State === 'complete') return ended;
    const { memoryMb } = limitsOf(this.#spec.kind, this.#spec.configuration.plan);
    throw this.#failure(await taskEnd(this.#deps.engine, ended, memoryMb));
  }

  /** Resolves when the task has ended, at the latest some seconds after the grace period. */
  async remove(): Promise<void> {
    const { engine, config } = this.#deps;
    const service = await unlessGone(engine.calls.getService(this.#task.name).inspect());
    if (!service) return;
    await removeService(this.#deps, service.ID);
    const deadline = Date.now() + config.stopGraceSeconds * 1000 + STOP_SLACK_MS;
    while (Date.now() < deadline) {
      const tasks: SwarmTask[] = await engine.calls.listTasks();
      if (tasks.every((task) => task.ServiceID !== service.ID || hasEnded(task))) return;
      await sleep(POLL_MS);
    }
  }

  /** Throws `ReleaseError` at the deadline, in milliseconds since the epoch. */
  async #until(good: (task: SwarmTask) => boolean, deadline: number): Promise<SwarmTask> {
    for (;;) {
      const filters = { service: [this.#task.name] };
      const [task]: SwarmTask[] = await this.#deps.engine.calls.listTasks({ filters });
      if (task && good(task)) return task;
      if (Date.now() >= deadline) throw this.#failure(this.#lateness(task));
      await sleep(POLL_MS, undefined, { signal: this.#options.signal }).catch(() => undefined);
      this.#options.signal.throwIfAborted();
    }
  }

  #lateness(task: SwarmTask | undefined): string {
    if (task?.Status.State === 'running') return `did not end within ${Math.round(this.#options.timeoutMs / 1000)} s`;
    const reason = task?.Status.Err || task?.Status.Message || 'the swarm made no task of it';
    return `was not started within ${this.#deps.config.releaseTimeoutSeconds} s: ${reason}`;
  }

  /** The stream of the output stays open after the task's end, so the task's state is polled. */
  async #follow(taskId: string, deadline: number): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#options.signal]);
    const following = this.#passOn(taskId, signal);
    try {
      await this.#until(hasEnded, deadline);
    } finally {
      over.abort();
      await following;
    }
  }

  async #passOn(taskId: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const output of followOutput(this.#deps.engine, taskId, this.#mark, signal)) await this.#take(output);
    } catch (error) {
      // After the task has ended, `run` reads the part that was not followed.
      if (!signal.aborted) this.#deps.log.debug({ taskId, err: error }, 'the output of a command cannot be followed');
    }
  }

  async #take(outputs: readonly Output[]): Promise<void> {
    for (const { stream, timestamp, bytes } of outputs) {
      for (const line of this.#splitters[stream].push(bytes)) await this.#say(line);
      this.#mark = timestamp;
    }
  }

  async #say(line: string): Promise<void> {
    this.#output.push(line);
    await this.#options.onLine(line);
  }

  #failure(cause: string): ReleaseError {
    const { memoryMb } = limitsOf(this.#spec.kind, this.#spec.configuration.plan);
    const output = this.#output.lines.map((line) => this.#masker.mask(line));
    return new ReleaseError(commandMessage(this.#task.command, cause, output, memoryMb));
  }
}
