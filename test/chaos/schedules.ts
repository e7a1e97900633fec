import { rowsOf } from '../../shared/core/database/database-client.js';
import type { ApiClient } from '../support/client.js';
import { createService, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import type { ChaosTarget } from './chaos-target.js';
import type { Entry } from './entries.js';
import { insist } from './load.js';

const MINUTE = 60_000;
/** The command lasts long enough that a worker is killed meanwhile. */
const COMMAND = `node -e "console.log('run ' + process.env.RANVIER_RUN_ID); setTimeout(() => {}, 15000)"`;
const NEVER = '0 0 1 1 *';

/** Creates a cron service with a tick each minute. */
export function createCron(client: ApiClient, target: ChaosTarget, repository: string): Promise<Service> {
  return createService(client, {
    name: 'every minute',
    kind: 'cron',
    configuration: {
      ...target.configuration,
      replicas: 1,
      repository,
      startCommand: COMMAND,
      schedule: '* * * * *',
      maxConcurrency: 100,
      maxRetries: 5,
    },
  });
}

/** Changes the schedule, so that no further tick comes. */
export async function endTicks(client: ApiClient, service: Service): Promise<void> {
  await insist(client, 'PATCH', `/services/${service.id}`, { configuration: { schedule: NEVER } });
}

interface RunFacts {
  id: string;
  service_id: string;
  trigger: 'schedule' | 'manual';
  status: string;
  attempt: number;
  error: string;
  scheduled_at: Date;
  starts: number;
  /** Starts that were abandoned because the worker died before it had recorded the process. */
  interrupted: number;
}

/** Compares ticks with runs, and runs with what their commands printed. */
export async function scheduleBooks({ database }: Platform): Promise<Entry[]> {
  const all = await rowsOf<RunFacts>(
    database.db,
    `select r.id, r.service_id, r.trigger, r.status, r.attempt, r.error, r.scheduled_at,
            (select count(*) from log_lines l where l.service_id = r.service_id and l.message = 'run ' || r.id) as starts,
            coalesce((select sum(restarts) from replicas p where p.run_id = r.id), 0)::int as interrupted
       from runs r order by r.service_id, r.scheduled_at`,
  );
  const runs = all.filter(({ trigger }) => trigger === 'schedule');
  const given = all.filter(({ trigger }) => trigger === 'manual');
  const shown = (rows: RunFacts[]) => rows.map((row) => JSON.stringify(row));
  return [
    { what: 'ticks that have no run, or two', counted: runs.length, wrong: gaps(runs) },
    {
      what: 'runs that did not succeed',
      counted: runs.length,
      wrong: shown(runs.filter(({ status }) => status !== 'succeeded')),
    },
    {
      what: 'runs that were carried out once for each attempt',
      counted: runs.reduce((sum, { starts }) => sum + starts, 0),
      wrong: shown(
        runs.filter(
          ({ starts, attempt, interrupted }) => starts < attempt - 1 || starts === 0 || starts > attempt + interrupted,
        ),
      ),
    },
    {
      what: 'commands that were given and started twice, or whose end is wrong',
      counted: given.length,
      wrong: shown(
        given.filter(
          ({ status, starts, error }) =>
            starts > 1 ||
            (status === 'succeeded' && starts !== 1) ||
            (status === 'failed' && !error.includes('is not started again')),
        ),
      ),
    },
  ];
}

function gaps(runs: readonly RunFacts[]): string[] {
  return runs.flatMap((run, index) => {
    const before = runs[index - 1];
    if (before?.service_id !== run.service_id) return [];
    const minutes = (run.scheduled_at.getTime() - before.scheduled_at.getTime()) / MINUTE;
    return minutes === 1 ? [] : [`${minutes} minutes before run ${run.id}, ${run.scheduled_at.toISOString()}`];
  });
}
