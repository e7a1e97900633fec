import type { Config } from '../../shared/core/config.js';
import { deleteOldMetrics, rollUp } from '../../shared/metrics/history-store.js';
import { foldUsage } from '../runtime/usage-store.js';
import type { JobDeps } from '../worker-deps.js';

/** Seconds for which a measurement of a replica is valid, so that a late or failed one does no harm. */
export function sampleSeconds({ metricsSeconds }: Pick<Config, 'metricsSeconds'>): number {
  return metricsSeconds * 2.5 + 1;
}

/** Adds what the replicas use to the figures of their services. */
export async function collectMetrics({ db, config }: Pick<JobDeps, 'db' | 'config'>): Promise<void> {
  await foldUsage(db, sampleSeconds(config));
}

/** Makes the coarser figures from the finer ones, and deletes the old ones. Nothing of that is a repair. */
export async function keepMetrics({ db }: Pick<JobDeps, 'db'>): Promise<void> {
  await rollUp(db);
  await deleteOldMetrics(db);
}
