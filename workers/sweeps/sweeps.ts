import cron, { type ScheduledTask } from 'node-cron';
import { errorMessage } from '../../shared/core/error-registry.js';
import type { Logger } from '../../shared/core/log.js';
import type { HostContents } from '../../shared/workers/store.js';

export interface SweepDefinition {
  name: string;
  /** A cron expression with six fields; the first one is seconds. */
  schedule: string;
  /** A `platform` sweep runs only on the leading worker, a `host` sweep on every worker, for its own host. */
  scope: 'platform' | 'host';
  /**
   * What the sweep works on. The sweep does not run if, according to the last heartbeat, the host has nothing of this
   * kind.
   */
  of?: keyof HostContents | undefined;
  /** Repairs what faults left behind. Returns a line for each repair; empty if there was none. */
  sweep: () => Promise<string[]>;
}

export interface SweepDeps {
  leadership: { readonly leading: boolean };
  /** What the host has; null until the first heartbeat. */
  contents: () => HostContents | null;
  log: Pick<Logger, 'info' | 'warn'>;
  countRepairs: (name: string, repairs: number) => Promise<void>;
}

/** Delays are random, because the clocks of all hosts agree and would start all queries at one instant. */
const MAX_DELAY_MS = 4000;

/** Runs sweeps on their schedules. A sweep that is still running is not started again. */
export class Sweeps {
  readonly #deps: SweepDeps;
  readonly #tasks: ScheduledTask[];

  constructor(definitions: readonly SweepDefinition[], deps: SweepDeps) {
    this.#deps = deps;
    this.#tasks = definitions.map((definition) =>
      cron.schedule(definition.schedule, () => this.run(definition), {
        noOverlap: true,
        name: definition.name,
        maxRandomDelay: definition.scope === 'host' ? MAX_DELAY_MS : 0,
      }),
    );
  }

  async run({ name, scope, of, sweep }: SweepDefinition): Promise<void> {
    const { leadership, contents, log, countRepairs } = this.#deps;
    if (scope === 'platform' && !leadership.leading) return;
    if (of !== undefined && contents()?.[of] === false) return;
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
