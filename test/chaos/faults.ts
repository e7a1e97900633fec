import { setTimeout as delay } from 'node:timers/promises';
import { signalProcess } from '../../shared/core/signal-process.js';
import { testPostgresPid } from '../support/postgres.js';
import type { PlatformProcess } from '../support/processes.js';
import type { Ground, GroundFault } from './ground.js';
import type { Random } from './random.js';
import { persistently, type WorkerSupervisor } from './worker-supervisor.js';

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
export function planFaults(
  random: Random,
  count: number,
  { platform, faults }: Pick<Ground, 'platform' | 'faults'>,
): Fault[] {
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
  readonly #workers: WorkerSupervisor;
  readonly #say: (what: string) => void;
  /** Workers that end, stopped workers that will wake up, and machines that come back. */
  readonly #later: Promise<unknown>[] = [];

  constructor(ground: Ground, workers: WorkerSupervisor, say: (what: string) => void) {
    this.#ground = ground;
    this.#workers = workers;
    this.#say = say;
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
    await this.#workers.settled();
  }

  async #strike({ what, position, durationMs }: Fault): Promise<void> {
    const { platform } = this.#ground;
    if (typeof what !== 'string') {
      this.#later.push(what.strike(position, durationMs));
      return;
    }
    switch (what) {
      case 'kill a worker':
        await this.#workers.take(position)?.stop('SIGKILL');
        void this.#workers.start();
        return;
      case 'term a worker':
        // As in an upgrade: the new one starts while the old one still hands over.
        this.#later.push(this.#workers.take(position)?.stop('SIGTERM') ?? Promise.resolve());
        void this.#workers.start();
        return;
      case 'stop a worker for longer than its locks': {
        const target = this.#workers.take(position);
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
        // If the fault before has ended it, it is about to start again.
        signalProcess(testPostgresPid(), 'SIGQUIT');
        return;
      case 'restart redis':
        await platform.redis?.restart();
        return;
      case 'flush redis':
        await platform.redis?.flush();
        return;
    }
  }

  #wake(worker: PlatformProcess | undefined): void {
    worker?.kill('SIGCONT');
    if (worker) this.#workers.add(worker);
  }
}
