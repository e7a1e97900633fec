import { setTimeout as delay } from 'node:timers/promises';
import { testPostgresPid } from '../support/postgres.js';
import type { PlatformProcess } from '../support/processes.js';
import type { Ground, GroundFault } from './ground.js';
import type { Random } from './random.js';

const FAULTS = [
  'kill a worker',
  'kill a worker',
  'term a worker',
  'stop a worker for longer than its locks',
  'kill the api',
  'term the api',
  'restart postgresql at once',
  'restart redis',
  'flush redis',
] as const;

export interface Fault {
  afterMs: number;
  what: (typeof FAULTS)[number] | GroundFault;
  /** Which of the workers, or of what else there are several of. */
  position: number;
  durationMs: number;
}

/** The sequence of faults: decided before the first one strikes, by the seed alone. */
export function planFaults(random: Random, count: number, { platform, faults }: Ground): Fault[] {
  const common = FAULTS.filter((what) => platform.redis !== null || !what.includes('redis'));
  return Array.from({ length: count }, () => ({
    afterMs: random.between(1500, 4000),
    what: random.pick([...common, ...faults]),
    position: random.between(0, 99),
    durationMs: random.between(8000, 14_000),
  }));
}

/** Strikes the platform with the plan, again and again until told to stop; replaces what it killed. */
export class FaultInjector {
  readonly struck = new Map<string, number>();
  readonly #ground: Ground;
  readonly #say: (what: string) => void;
  /** Replacements that are starting, and stopped workers that will wake up. */
  readonly #later: Promise<unknown>[] = [];
  /** Workers that are up: one that still starts is not struck. */
  #workers: PlatformProcess[];

  constructor(ground: Ground, say: (what: string) => void) {
    this.#ground = ground;
    this.#say = say;
    this.#workers = ground.platform.workers;
  }

  async run(plan: readonly Fault[], stop: AbortSignal): Promise<void> {
    for (const fault of plan) {
      await delay(fault.afterMs, undefined, { signal: stop }).catch(() => undefined);
      if (stop.aborted) break;
      const kind = typeof fault.what === 'string' ? fault.what : fault.what.kind;
      this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
      this.#say(kind);
      await this.#strike(fault);
    }
    await Promise.all(this.#later);
  }

  async #strike({ what, position, durationMs }: Fault): Promise<void> {
    const { platform } = this.#ground;
    if (typeof what !== 'string') {
      this.#later.push(what.strike(position, durationMs));
      return;
    }
    switch (what) {
      case 'kill a worker':
        await this.#take(position)?.stop('SIGKILL');
        this.#later.push(this.#replace());
        return;
      case 'term a worker':
        // As in an upgrade: the new one starts while the old one still hands over.
        this.#later.push(this.#replace(), this.#take(position)?.stop('SIGTERM') ?? Promise.resolve());
        return;
      case 'stop a worker for longer than its locks': {
        const target = this.#take(position);
        target?.kill('SIGSTOP');
        this.#later.push(delay(durationMs).then(() => this.#wake(target)));
        return;
      }
      case 'kill the api':
      case 'term the api': {
        const api = platform.processes.find((process) => process.name === 'api' && !process.ended);
        await api?.stop(what === 'kill the api' ? 'SIGKILL' : 'SIGTERM');
        await persistently(() => platform.startApi());
        return;
      }
      case 'restart postgresql at once':
        process.kill(testPostgresPid(), 'SIGQUIT');
        return;
      case 'restart redis':
        await platform.redis?.restart();
        return;
      case 'flush redis':
        await platform.redis?.flush();
        return;
    }
  }

  /** Takes a worker off the list of those that are up. */
  #take(position: number): PlatformProcess | undefined {
    return this.#workers.splice(position % Math.max(1, this.#workers.length), 1)[0];
  }

  /** A process that meets another fault in its start ends, and is started again, as a supervisor would. */
  async #replace(): Promise<void> {
    this.#workers.push(await persistently(() => this.#ground.startWorker()));
  }

  #wake(worker: PlatformProcess | undefined): void {
    worker?.kill('SIGCONT');
    if (worker) this.#workers.push(worker);
  }
}

const STARTS = 10;

async function persistently<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === STARTS) throw error;
      await delay(500);
    }
  }
}
