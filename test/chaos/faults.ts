import { setTimeout as delay } from 'node:timers/promises';
import { signalProcess } from '../../shared/core/signal-process.js';
import { testPostgresPid } from '../support/postgres.js';
import type { PlatformProcess } from '../support/processes.js';
import type { ChaosTarget, TargetFault } from './chaos-target.js';
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
const POLL_INTERVAL_MS = 100;

export interface Fault {
  afterMs: number;
  what: (typeof FAULTS)[number] | TargetFault;
  /** Index of the worker, database or machine. Indexes beyond the last one begin again at the first. */
  position: number;
  durationMs: number;
}

/** Plans the faults from the seed. With `hasStandby`, PostgreSQL is not restarted but replaced (failovers.ts). */
export function planFaults(
  random: Random,
  count: number,
  { platform, faults, hasStandby }: Pick<ChaosTarget, 'platform' | 'faults'> & { hasStandby: boolean },
): Fault[] {
  const common = FAULTS.filter(
    (what) => (platform.redis !== null || !what.includes('redis')) && !(hasStandby && what.includes('postgresql')),
  );
  return Array.from({ length: count }, () => ({
    afterMs: random.between(1500, 4000),
    what: random.pick([...common, ...faults]),
    position: random.between(0, 99),
    durationMs: random.between(8000, 14_000),
  }));
}

/** Carries out the planned faults one after another until it is told to stop. Starts again what it killed. */
export class FaultInjector {
  /** Times in milliseconds. */
  readonly strikes: { kind: string; at: number }[] = [];
  readonly #target: ChaosTarget;
  readonly #workers: WorkerSupervisor;
  readonly #say: (what: string) => void;
  readonly #later: Promise<unknown>[] = [];

  constructor(target: ChaosTarget, workers: WorkerSupervisor, say: (what: string) => void) {
    this.#target = target;
    this.#workers = workers;
    this.#say = say;
  }

  get struck(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { kind } of this.strikes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts;
  }

  /** True if a fault of this kind began in this time. */
  struckBetween(kind: RegExp, from: number, to: number): boolean {
    return this.strikes.some((strike) => kind.test(strike.kind) && strike.at >= from && strike.at <= to);
  }

  async run(plan: readonly Fault[], stop: AbortSignal): Promise<void> {
    for (const fault of plan) {
      await delay(fault.afterMs, undefined, { signal: stop }).catch(() => undefined);
      // On a slow machine, faults would otherwise end all workers before one has done anything.
      while (this.#workers.running === 0 && !stop.aborted) await delay(POLL_INTERVAL_MS);
      if (stop.aborted) break;
      const kind = typeof fault.what === 'string' ? fault.what : fault.what.kind;
      this.strikes.push({ kind, at: Date.now() });
      this.#say(kind);
      await this.#strike(fault);
    }
    await Promise.all(this.#later);
    await this.#workers.settled();
  }

  async #strike({ what, position, durationMs }: Fault): Promise<void> {
    const { platform } = this.#target;
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
        // As in an upgrade, the new worker starts while the old one hands over.
        this.#later.push(this.#workers.take(position)?.stop('SIGTERM') ?? Promise.resolve());
        void this.#workers.start();
        return;
      case 'stop a worker for longer than its locks': {
        const worker = this.#workers.take(position);
        worker?.kill('SIGSTOP');
        this.#later.push(delay(durationMs).then(() => this.#wake(worker)));
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
        // If the previous fault has ended PostgreSQL, PostgreSQL is about to start again.
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
