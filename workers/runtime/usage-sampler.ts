import { errorMessage } from '../../shared/core/error-registry.js';
import { limitsOf } from '../../shared/services/plan-catalog.js';
import { concurrently } from '../core/concurrently.js';
import type { ResourceUsage } from '../sandbox/sandbox.js';
import type { ReplicaHost } from './replica-host.js';
import type { ReplicaRuntimeDeps } from './replica-runtime-deps.js';
import { type MeasurableReplica, measurableReplicas, type ReplicaSample, recordSamples } from './usage-store.js';

const MEGABYTE = 1024 * 1024;
const AT_ONCE = 16;

type Deps = Pick<ReplicaRuntimeDeps, 'db' | 'config' | 'log' | 'hostId'>;

interface Reading extends ResourceUsage {
  attempt: number;
  /** Milliseconds on this process's monotonic clock. */
  at: number;
}

/** Measures a host's replicas every `METRICS_SECONDS`. */
export class UsageSampler {
  readonly #deps: Deps;
  readonly #host: Pick<ReplicaHost, 'prepareUsage' | 'usage'>;
  readonly #isActive: () => boolean;
  #readings = new Map<string, Reading>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;

  /** `isActive` returns false while another worker measures the replicas. */
  constructor(deps: Deps, host: Pick<ReplicaHost, 'prepareUsage' | 'usage'>, isActive: () => boolean) {
    this.#deps = deps;
    this.#host = host;
    this.#isActive = isActive;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.#run().finally(() => {
        this.#running = null;
      });
    }, this.#deps.config.metricsSeconds * 1000);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    if (!this.#isActive()) {
      this.#readings.clear();
      return;
    }
    try {
      await this.#sample();
    } catch (error) {
      this.#deps.log.warn(`the replicas of this host were not measured: ${errorMessage(error)}`);
    }
  }

  async #sample(): Promise<void> {
    const { db, hostId } = this.#deps;
    const replicas = await measurableReplicas(db, hostId);
    await this.#host.prepareUsage?.();
    const readings = new Map<string, Reading>();
    const samples: ReplicaSample[] = [];
    await concurrently(replicas, AT_ONCE, async (replica) => {
      const usage = await this.#host.usage(replica);
      if (usage === null) return;
      const reading = { ...usage, attempt: replica.restarts, at: performance.now() };
      readings.set(replica.id, reading);
      const before = this.#readings.get(replica.id);
      const sample = before?.attempt === replica.restarts ? sampleOf(replica, before, reading) : null;
      if (sample !== null) samples.push(sample);
    });
    this.#readings = readings;
    await recordSamples(db, samples);
  }
}

/** Returns usage in percent of the plan; null if no time has passed or the counter was reset. */
export function sampleOf(replica: MeasurableReplica, before: Reading, now: Reading): ReplicaSample | null {
  const seconds = (now.at - before.at) / 1000;
  if (seconds <= 0 || now.cpuSeconds < before.cpuSeconds) return null;
  const { cpu, memoryMb } = limitsOf(replica.kind, replica.plan);
  return {
    replicaId: replica.id,
    serviceId: replica.service_id,
    attempt: replica.restarts,
    cpu: (100 * (now.cpuSeconds - before.cpuSeconds)) / seconds / cpu,
    memory: (100 * now.memoryBytes) / (memoryMb * MEGABYTE),
  };
}
