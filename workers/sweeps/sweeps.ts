import cron, { type ScheduledTask } from 'node-cron';
import { wantedDigests } from '../../shared/db/images.js';
import type { Leadership } from '../../shared/db/leadership.js';
import { deleteExpiredReceipts } from '../../shared/db/receipts.js';
import { staleReleases } from '../../shared/db/releases.js';
import { deleteExpiredLogs, deleteOldReplicas } from '../../shared/db/retention.js';
import { deleteExpiredSessions } from '../../shared/db/sessions.js';
import { countRepairs } from '../../shared/db/statistics.js';
import { forgetSilentWorkers } from '../../shared/db/workers.js';
import { errorMessage } from '../../shared/errors.js';
import type { Engine } from '../../shared/queues/engine.js';
import type { WorkshopDeps } from '../deploy/deps.js';
import { retireOldReleases } from '../deploy/retire.js';
import { sendBudgetAlerts } from './budget-alerts.js';
import { sendNotifications } from './notify.js';
import { reconcileJobs } from './reconcile-jobs.js';
import { reviveReleases } from './revive-releases.js';

/** What a sweep mended, a word for each; empty where all was as it should be. */
type Sweep = () => Promise<string[]>;

interface Definition {
  name: string;
  /** Six fields: the first is seconds. */
  schedule: string;
  /** `platform` runs on one worker of all, `host` on every worker's own host. */
  scope: 'platform' | 'host';
  sweep: Sweep;
}

function definitions(deps: WorkshopDeps, engine: Engine): Definition[] {
  return [
    {
      name: 'dispatch',
      schedule: '*/2 * * * * *',
      scope: 'platform',
      sweep: async () => {
        await deps.dispatcher.dispatch();
        return [];
      },
    },
    { name: 'jobs', schedule: '*/5 * * * * *', scope: 'platform', sweep: () => reconcileJobs(deps, engine) },
    {
      name: 'notifications',
      schedule: '*/2 * * * * *',
      scope: 'platform',
      sweep: async () => {
        await sendNotifications(deps);
        return [];
      },
    },
    {
      name: 'releases',
      schedule: '*/10 * * * * *',
      scope: 'platform',
      sweep: async () => {
        const stale = await staleReleases(deps.db, null);
        for (const serviceId of new Set(stale.map((release) => release.serviceId))) {
          await retireOldReleases(deps, serviceId, new AbortController().signal);
        }
        return stale.map((release) => `stopped release ${release.deploymentId}`);
      },
    },
    { name: 'replicas', schedule: '*/15 * * * * *', scope: 'host', sweep: () => reviveReleases(deps) },
    {
      name: 'retention',
      schedule: '30 * * * * *',
      scope: 'platform',
      sweep: async () => {
        await forgetSilentWorkers(deps.db);
        return [
          ...count(await deleteExpiredLogs(deps.db), 'log lines'),
          ...count(await deleteOldReplicas(deps.db), 'stopped replicas'),
          ...count(await deleteExpiredReceipts(deps.db), 'receipts'),
          ...count(await deleteExpiredSessions(deps.db), 'sessions'),
        ];
      },
    },
    { name: 'budgets', schedule: '15 * * * * *', scope: 'platform', sweep: () => sendBudgetAlerts(deps) },
    {
      name: 'images',
      schedule: '45 */5 * * * *',
      scope: 'host',
      sweep: async () => {
        const wanted = await wantedDigests(deps.db);
        return [
          ...count(await deps.images.sweep((digest) => wanted.has(digest)), 'images'),
          ...count(await deps.builder.sweep(), 'unused build caches'),
          ...count(await deps.source.sweep(), 'unused mirrors'),
        ];
      },
    },
  ];
}

function count(number: number, what: string): string[] {
  return number > 0 ? [`removed ${number} ${what}`] : [];
}

/**
 * Mends, on a timer, what faults have left behind. The sweeps of the platform run on one worker, whichever leads; a
 * sweep that is still running is not begun again.
 */
export class Sweeps {
  readonly #tasks: ScheduledTask[];

  constructor(deps: WorkshopDeps, engine: Engine, leadership: Leadership) {
    this.#tasks = definitions(deps, engine).map(({ name, schedule, scope, sweep }) =>
      cron.schedule(
        schedule,
        async () => {
          if (scope === 'platform' && !leadership.leading) return;
          try {
            const repairs = await sweep();
            for (const repair of repairs) deps.log.info({ sweep: name }, repair);
            if (repairs.length > 0) await countRepairs(deps.db, name, repairs.length);
          } catch (error) {
            deps.log.warn({ sweep: name }, `sweep failed: ${errorMessage(error)}`);
          }
        },
        { noOverlap: true, name },
      ),
    );
  }

  async close(): Promise<void> {
    for (const task of this.#tasks) await task.destroy();
  }
}
