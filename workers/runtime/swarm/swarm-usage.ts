import { type Engine, unlessGone } from '../../docker/docker-engine.js';
import type { ResourceUsage } from '../../sandbox/sandbox.js';
import type { MeasurableReplica } from '../usage-store.js';

const TASK_LABEL = 'com.docker.swarm.task.id';

/** The memory counters depend on the host's cgroup version. */
export interface ContainerStats {
  cpu_stats: { cpu_usage?: { total_usage?: number } };
  memory_stats: { usage?: number; stats?: { inactive_file?: number; total_inactive_file?: number } };
}

/** Measures the tasks on this worker's own engine. Workers on other nodes measure the tasks there. */
export class SwarmUsage {
  readonly #engine: Engine;
  #containers: ReadonlyMap<string, string> = new Map();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async refresh(): Promise<void> {
    const containers = await this.#engine.calls.listContainers({ filters: { label: [TASK_LABEL] } });
    this.#containers = new Map(containers.map(({ Id, Labels }) => [Labels[TASK_LABEL] ?? '', Id]));
  }

  /** Null if the replica's task does not run on this engine. */
  async usageOf({ task_id }: MeasurableReplica): Promise<ResourceUsage | null> {
    const container = task_id === null ? undefined : this.#containers.get(task_id);
    if (container === undefined) return null;
    const options = { stream: false as const, 'one-shot': true };
    const stats = await unlessGone(this.#engine.calls.getContainer(container).stats(options));
    return stats === undefined ? null : usageFrom(stats);
  }
}

/** Extracts the usage from the engine's statistics; null if the container has exited. */
export function usageFrom({ cpu_stats, memory_stats }: ContainerStats): ResourceUsage | null {
  const time = cpu_stats.cpu_usage?.total_usage;
  const { usage, stats } = memory_stats;
  if (time === undefined || usage === undefined) return null;
  const cached = stats?.total_inactive_file ?? stats?.inactive_file ?? 0;
  return { cpuSeconds: time / 1e9, memoryBytes: Math.max(0, usage - cached) };
}
