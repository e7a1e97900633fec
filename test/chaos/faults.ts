import { setTimeout as delay } from 'node:timers/promises';
import { testPostgresPid } from '../support/postgres.js';
import type { PlatformProcess } from '../support/processes.js';
import type { Ground } from './ground.js';
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
];
/** One of these, or one of the ground's own. */
export type FaultKind = string;

export interface Fault {
  afterMs: number;
  kind: FaultKind;
  /** Which of the workers, by position. */
  worker: number;
  durationMs: number;
}

/** The sequence of faults: decided before the first one strikes, by the seed alone. */
export function planFaults(random: Random, count: number, { platform, faults }: Ground): Fault[] {
  const common = FAULTS.filter((kind) => platform.redis !== null || !kind.includes('redis'));
  const kinds = [...common, ...faults.map(({ kind }) => kind)];
  return Array.from({ length: count }, () => ({
    afterMs: random.between(1500, 4000),
    kind: random.pick(kinds),
    worker: random.between(0, 99),
    durationMs: random.between(8000, 14_000),
  }));
}

/** Strikes the platform with the plan, again and again until told to stop; replaces what it killed. */
export class FaultInjector {
  readonly struck = new Map<FaultKind, number>();
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
      this.struck.set(fault.kind, (this.struck.get(fault.kind) ?? 0) + 1);
      this.#say(fault.kind);
      await this.#strike(fault);
    }
    await Promise.all(this.#later);
  }

  async #strike({ kind, worker, durationMs }: Fault): Promise<void> {
    const { platform } = this.#ground;
    switch (kind) {
      case 'kill a worker':
        await this.#take(worker)?.stop('SIGKILL');
        this.#later.push(this.#replace());
        return;
      case 'term a worker':
        // As in an upgrade: the new one starts while the old one still hands over.
        this.#later.push(this.#replace(), this.#take(worker)?.stop('SIGTERM') ?? Promise.resolve());
        return;
      case 'stop a worker for longer than its locks': {
        const target = this.#take(worker);
        target?.kill('SIGSTOP');
        this.#later.push(delay(durationMs).then(() => this.#wake(target)));
        return;
      }
      case 'kill the api':
      case 'term the api': {
        const api = platform.processes.find((process) => process.name === 'api' && !process.ended);
        await api?.stop(kind === 'kill the api' ? 'SIGKILL' : 'SIGTERM');
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
      default: {
        const own = this.#ground.faults.find((fault) => fault.kind === kind);
        if (own) this.#later.push(own.strike(worker, durationMs));
      }
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
