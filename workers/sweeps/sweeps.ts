import cron, { type ScheduledTask } from 'node-cron';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';

export interface SweepDefinition {
  name: string;
  /** A cron expression with six fields; the first one is seconds. */
  schedule: string;
  /** A `platform` sweep runs only on the leading worker, a `host` sweep on every worker, for its own host. */
  scope: 'platform' | 'host';
  /** Repairs what faults left behind. Returns a line for each repair; empty if there was none. */
  sweep: () => Promise<string[]>;
}

export interface SweepDeps {
  leadership: { readonly leading: boolean };
  log: Pick<Logger, 'info' | 'warn'>;
  countRepairs: (name: string, repairs: number) => Promise<void>;
}

function isSweepDue(scope: SweepDefinition['scope'], leading: boolean): boolean {
  return scope === 'host' || leading;
}

/** Runs sweeps on their schedules. A sweep that is still running is not started again. */
export class Sweeps {
  readonly #deps: SweepDeps;
  readonly #tasks: ScheduledTask[];

  constructor(definitions: readonly SweepDefinition[], deps: SweepDeps) {
    this.#deps = deps;
    this.#tasks = definitions.map((definition) =>
      cron.schedule(definition.schedule, () => this.run(definition), { noOverlap: true, name: definition.name }),
    );
  }

  /**
   * Runs one sweep now. Does nothing if only the leading worker may run it and this worker does not lead. A failure is
   * logged, and the next run retries.
   */
  async run({ name, scope, sweep }: SweepDefinition): Promise<void> {
    const { leadership, log, countRepairs } = this.#deps;
    if (!isSweepDue(scope, leadership.leading)) return;
    try {
      const repairs = await sweep();
      for (const repair of repairs) log.info({ sweep: name }, repair);
      if (repairs.length > 0) await countRepairs(name, repairs.length);
    } catch (error) {
      log.warn({ sweep: name }, `sweep failed, it runs again on its schedule: ${errorMessage(error)}`);
    }
  }

  async close(): Promise<void> {
    for (const task of this.#tasks) await task.destroy();
  }
}
