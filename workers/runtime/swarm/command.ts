import { setTimeout as sleep } from 'node:timers/promises';
import { planOf } from '../../../shared/domain/catalog.js';
import { unlessGone } from '../../docker/engine.js';
import { LineSplitter } from '../../sandbox/lines.js';
import { type CommandOptions, ReleaseError, type ReleaseSpec } from '../driver.js';
import { maskerOf } from '../masker.js';
import type { SwarmRuntimeDeps } from './deps.js';
import { createService, removeService } from './services.js';
import { commandService } from './spec.js';
import { taskEnd } from './task-end.js';
import { followOutput, type Output, readOutput } from './task-output.js';
import { hasEnded, type SwarmTask } from './view.js';

const LOOK_MS = 250;
const LAST_LINES = 8;
/** Beyond the grace of the command: Swarm waits some seconds before it ends a task. */
const STOP_SLACK_MS = 10_000;

/** Runs one command as the release's replicas run: same image, environment, network and limits, on any node. */
export async function runSwarmCommand(
  deps: SwarmRuntimeDeps,
  spec: ReleaseSpec,
  command: string,
  options: CommandOptions,
): Promise<void> {
  const run = new CommandRun(deps, spec, command, options);
  // One that a dead worker left would run twice.
  await run.remove();
  try {
    await run.run();
  } finally {
    await run.remove();
  }
}

class CommandRun {
  readonly #deps: SwarmRuntimeDeps;
  readonly #spec: ReleaseSpec;
  readonly #command: string;
  readonly #options: CommandOptions;
  readonly #name: string;
  readonly #said: string[] = [];
  readonly #masker;
  readonly #splitters;
  #mark: string | null = null;

  constructor(deps: SwarmRuntimeDeps, spec: ReleaseSpec, command: string, options: CommandOptions) {
    this.#deps = deps;
    this.#spec = spec;
    this.#command = command;
    this.#options = options;
    this.#name = `command-${spec.deploymentId}`;
    this.#masker = maskerOf(spec);
    this.#splitters = { stdout: new LineSplitter(this.#masker), stderr: new LineSplitter(this.#masker) };
  }

  async run(): Promise<void> {
    const { signal, timeoutMs } = this.#options;
    signal.throwIfAborted();
    const deadline = Date.now() + timeoutMs;
    await createService(this.#deps, this.#spec, (context) => commandService(this.#spec, this.#command, context));
    const begun = await this.#until(
      (task) => hasEnded(task) || task.Status.State === 'running',
      Math.min(deadline, Date.now() + this.#deps.config.releaseTimeoutSeconds * 1000),
    );
    if (!hasEnded(begun)) await this.#follow(begun.ID, deadline);
    const ended = await this.#until(hasEnded, deadline);
    await this.#take(await readOutput(this.#deps.engine, ended.ID, { since: this.#mark }));
    for (const line of [...this.#splitters.stdout.end(), ...this.#splitters.stderr.end()]) await this.#say(line);
    if (ended.Status.State === 'complete') return;
    const { memoryMb } = planOf(this.#spec.configuration.plan);
    throw this.#failure(await taskEnd(this.#deps.engine, ended, memoryMb));
  }

  /** Ends the command, if it runs, and returns when nothing of it is left. */
  async remove(): Promise<void> {
    const { engine, config } = this.#deps;
    const service = await unlessGone(engine.calls.getService(this.#name).inspect());
    if (!service) return;
    await removeService(this.#deps, service.ID);
    const deadline = Date.now() + config.stopGraceSeconds * 1000 + STOP_SLACK_MS;
    while (Date.now() < deadline) {
      const tasks: SwarmTask[] = await engine.calls.listTasks();
      if (tasks.every((task) => task.ServiceID !== service.ID || hasEnded(task))) return;
      await sleep(LOOK_MS);
    }
  }

  /** The command's task, once it is as it should be. */
  async #until(good: (task: SwarmTask) => boolean, deadline: number): Promise<SwarmTask> {
    for (;;) {
      const [task] = await this.#tasks();
      if (task && good(task)) return task;
      if (Date.now() >= deadline) throw this.#failure(this.#lateness(task));
      await sleep(LOOK_MS, undefined, { signal: this.#options.signal }).catch(() => undefined);
      this.#options.signal.throwIfAborted();
    }
  }

  #lateness(task: SwarmTask | undefined): string {
    if (task?.Status.State === 'running') return `did not end within ${Math.round(this.#options.timeoutMs / 1000)} s`;
    const reason = task?.Status.Err || task?.Status.Message || 'the swarm made no task of it';
    return `was not started within ${this.#deps.config.releaseTimeoutSeconds} s: ${reason}`;
  }

  async #tasks(): Promise<SwarmTask[]> {
    return this.#deps.engine.calls.listTasks({ filters: { service: [this.#name] } });
  }

  /** Passes the output on until the task has ended, which the stream itself does not tell. */
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
      // What is missing is read when the task has ended.
      if (!signal.aborted) this.#deps.log.debug({ taskId, err: error }, 'the output of a command is not followed');
    }
  }

  async #take(outputs: readonly Output[]): Promise<void> {
    for (const { stream, timestamp, bytes } of outputs) {
      for (const line of this.#splitters[stream].push(bytes)) await this.#say(line);
      this.#mark = timestamp;
    }
  }

  async #say(line: string): Promise<void> {
    this.#said.push(line);
    if (this.#said.length > LAST_LINES) this.#said.shift();
    await this.#options.onLine(line);
  }

  #failure(cause: string): ReleaseError {
    const output = this.#said.map((line) => this.#masker.mask(line)).join('\n');
    return new ReleaseError(
      `the command "${this.#command}" ${cause}${output === '' ? '' : `; its last output: ${output}`}`,
    );
  }
}
