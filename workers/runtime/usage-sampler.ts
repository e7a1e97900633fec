import type { Db } from '../../shared/core/database/client.js';
import { errorMessage } from '../../shared/core/errors.js';
import type { Logger } from '../../shared/core/log.js';
import { resourcesOf } from '../../shared/services/catalog.js';
import type { ResourceUsage } from '../sandbox/sandbox.js';
import { type MeasurableReplica, measurableReplicas, type ReplicaSample, recordSamples } from './usage-store.js';

const MEGABYTE = 1024 * 1024;
/** Replicas that are read at a time. */
const AT_ONCE = 16;

export interface UsageSamplerOptions {
  db: Db;
  log: Logger;
  hostId: string;
  everyMs: number;
  /** Called before the replicas are read. */
  prepare?: () => Promise<void>;
  /** What a replica has used so far; null if that is not known here. */
  usage: (replica: MeasurableReplica) => Promise<ResourceUsage | null>;
  /** False while another worker measures the replicas of this host. */
  active: () => boolean;
}

interface Reading extends ResourceUsage {
  attempt: number;
  /** Milliseconds of this process's clock. */
  at: number;
}

/** Measures the replicas of a host at intervals. What a replica used of the processor is known from its second reading on. */
export class UsageSampler {
  readonly #options: UsageSamplerOptions;
  #readings = new Map<string, Reading>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;

  constructor(options: UsageSamplerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.#run().finally(() => {
        this.#running = null;
      });
    }, this.#options.everyMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    if (!this.#options.active()) {
      this.#readings.clear();
      return;
    }
    try {
      await this.sample();
    } catch (error) {
      this.#options.log.warn(`the replicas of this host were not measured: ${errorMessage(error)}`);
    }
  }

  /** Measures every replica once and records it. */
  async sample(): Promise<void> {
    const { db, hostId } = this.#options;
    const replicas = await measurableReplicas(db, hostId);
    await this.#options.prepare?.();
    const readings = new Map<string, Reading>();
    const samples: ReplicaSample[] = [];
    for (let first = 0; first < replicas.length; first += AT_ONCE) {
      await Promise.all(
        replicas.slice(first, first + AT_ONCE).map(async (replica) => {
          const usage = await this.#options.usage(replica);
          if (usage === null) return;
          const reading = { ...usage, attempt: replica.restarts, at: performance.now() };
          readings.set(replica.id, reading);
          const before = this.#readings.get(replica.id);
          const sample = before?.attempt === replica.restarts ? sampleOf(replica, before, reading) : null;
          if (sample !== null) samples.push(sample);
        }),
      );
    }
    this.#readings = readings;
    await recordSamples(db, samples);
  }
}

/** What a replica used between two readings, in per cent of its plan; null if they are of the same moment. */
export function sampleOf(replica: MeasurableReplica, before: Reading, now: Reading): ReplicaSample | null {
  const seconds = (now.at - before.at) / 1000;
  if (seconds <= 0 || now.cpuSeconds < before.cpuSeconds) return null;
  const { cpu, memoryMb } = resourcesOf(replica.kind, replica.plan);
  return {
    replicaId: replica.id,
    serviceId: replica.service_id,
    attempt: replica.restarts,
    cpu: (100 * (now.cpuSeconds - before.cpuSeconds)) / seconds / cpu,
    memory: (100 * now.memoryBytes) / (memoryMb * MEGABYTE),
  };
}
