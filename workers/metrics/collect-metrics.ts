import type { Config } from '../../shared/core/config.js';
import { deleteOldMetrics, rollUp } from '../../shared/metrics/history-store.js';
import { foldUsage } from '../runtime/usage-store.js';
import type { JobDeps } from '../worker-deps.js';

/** Returns how long a usage sample is valid, in seconds. One late or missing sample leaves no gap. */
export function sampleSeconds({ metricsSeconds }: Pick<Config, 'metricsSeconds'>): number {
  return metricsSeconds * 2.5 + 1;
}

/** Adds the replicas' usage to the metrics of their services. */
export async function collectMetrics({ db, config }: Pick<JobDeps, 'db' | 'config'>): Promise<void> {
  await foldUsage(db, sampleSeconds(config));
}

/** Computes metrics of longer intervals from those of shorter ones, and deletes old metrics. */
export async function keepMetrics({ db }: Pick<JobDeps, 'db'>): Promise<void> {
  await rollUp(db);
  await deleteOldMetrics(db);
}
