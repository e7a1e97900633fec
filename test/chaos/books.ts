import { rowsOf } from '../../shared/core/database/database-client.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { visit } from '../support/client.js';
import type { Platform } from '../support/platform.js';
import type { ChaosTarget } from './chaos-target.js';
import type { Databases } from './databases.js';
import type { EdgeOutages } from './edge-outages.js';
import type { Entry } from './entries.js';
import type { Failure, Promises, Visits } from './load.js';
import { scheduleBooks } from './schedules.js';

/** Checks a platform that is idle after a run. */
export async function balance(
  target: ChaosTarget,
  promises: Promises,
  visits: Visits,
  databases: Databases | null,
  edge: EdgeOutages,
): Promise<Entry[]> {
  const { platform } = target;
  const { db } = platform.database;
  const entries: Entry[] = [];
  const enter = (what: string, counted: number, wrong: string[]) => entries.push({ what, counted, wrong });
  const none = async (what: string, sql: string) => {
    const rows = await rowsOf<{ id: string }>(db, sql);
    enter(
      what,
      rows.length,
      rows.map((row) => JSON.stringify(row)),
    );
  };

  const stored = new Set((await db<DeploymentRow>('deployments').select('id')).map((row) => row.id));
  enter('accepted deployments have their record', promises.deployments.size, [
    ...[...promises.deployments].filter((id) => !stored.has(id)),
    ...promises.broken,
  ]);
  const keyless = await rowsOf<{ n: number }>(db, 'select count(*) as n from deployments');
  enter(
    'no deployment that nobody asked for',
    keyless[0]?.n ?? 0,
    [...stored].filter((id) => !promises.deployments.has(id)),
  );
  await none('deployments that have not ended', `select id, status from deployments where finished_at is null`);
  await none(
    'services of a stack that went live apart, although they go live together',
    `select together_id as id from deployments where together_id is not null
      group by together_id having count(distinct went_live_at) > 1 or count(went_live_at) not in (0, count(*))`,
  );
  await none(
    'live although a cancellation was answered',
    `select id from deployments where status = 'live' and cancel_requested_at is not null`,
  );
  const ended = await db<DeploymentRow>('deployments').select('id', 'status', 'steps', 'error');
  enter(
    'steps: each at most once, all ended',
    ended.length,
    ended
      .filter(
        ({ steps }) =>
          steps.some((step) => !step.finishedAt) || steps.filter((step) => step.name === 'release').length > 1,
      )
      .map((row) => JSON.stringify(row)),
  );
  // One service of a stack fails on purpose, and the others of its round with it (together.ts).
  await none(
    'failed by a fault of the platform',
    `select id, error from deployments
      where status = 'failed' and not (together_id is not null and error like '%replica 1 exited with code 3 %')`,
  );
  await none('operations that have not ended', `select id, kind, status from operations where finished_at is null`);
  await none(
    'live is not the newest release that went live',
    `select s.id from services s
      where s.deleted_at is null and s.live_deployment_id is distinct from
        (select id from deployments d where d.service_id = s.id and d.went_live_at is not null order by d.went_live_at desc limit 1)`,
  );
  await none('deleted services that are still there', `select id from services where lifecycle_status = 'deleting'`);
  await none(
    'records that still need a job',
    'select id from deployments where due_at is not null union all select id from operations where due_at is not null union all select id from runs where due_at is not null',
  );
  await none('log batches on their way', 'select id from log_batches');
  await none(
    'leases',
    `select id from deployments where lease_expires_at is not null union all select id from operations where lease_expires_at is not null
     union all select id from runs where lease_expires_at is not null`,
  );
  await none(
    'log ids with a gap or a repeat',
    `select service_id as id, count(*), max(l.id) from log_lines l group by service_id
      having count(*) <> max(l.id) or count(*) <> (select last_id from log_counters c where c.service_id = l.service_id)`,
  );
  await none(
    'replicas that run and should not',
    `select r.id, r.deployment_id, s.lifecycle_status from replicas r join services s on s.id = r.service_id
      where r.state <> 'stopped' and (s.live_deployment_id is distinct from r.deployment_id or s.lifecycle_status <> 'active' or r.desired = 'stopped')`,
  );
  await none(
    'replicas that should run and do not',
    `select s.id, s.name from services s join deployments d on d.id = s.live_deployment_id
      where s.lifecycle_status = 'active' and s.deleted_at is null and s.kind <> 'cron'
        and not s.configuration @> '{"minReplicas": 0}'
        and (select count(*) from replicas r where r.deployment_id = d.id and r.desired = 'running' and r.state = 'ready')
            <> (d.configuration ->> 'replicas')::int`,
  );
  entries.push(...(await scheduleBooks(platform)));
  entries.push(...(databases?.books() ?? []));
  enter('jobs left in the queues', 0, await jobsLeft(platform));
  entries.push(...(await target.books()));
  enter('each service serves its live deployment', ...(await servesLive(platform)));
  enter('deleted services are unknown to the edge', ...(await servesNone(platform, promises.deletedServices)));
  const lost = visits.failures.filter((failure) => target.excuses(failure) || edge.excuses(failure));
  const failed = visits.failures.filter((failure) => !lost.includes(failure));
  enter('visits to services that stayed live', visits.answered, failed.map(shown));
  if (target.faults.length > 0 || edge.count > 0)
    enter('visits that a machine or an edge took with it', lost.length, []);
  return entries;
}

async function jobsLeft(platform: Platform): Promise<string[]> {
  const metrics = await platform.metrics();
  return metrics
    .split('\n')
    .filter(
      (line) =>
        /queue_jobs\{/.test(line) && /state="(waiting|active|delayed|prioritized)"/.test(line) && !/ 0$/.test(line),
    );
}

async function servesNone(platform: Platform, deleted: ReadonlySet<string>): Promise<[number, string[]]> {
  const rows = await platform.database
    .db('services')
    .whereIn('id', [...deleted])
    .select('slug');
  const wrong: string[] = [];
  for (const { slug } of rows) {
    const { status } = await visit(`http://${slug}.localhost`, platform.edgePort);
    if (status !== 404) wrong.push(`${slug}: ${status}`);
  }
  return [rows.length, wrong];
}

async function servesLive(platform: Platform): Promise<[number, string[]]> {
  const services = await rowsOf<{ slug: string; live: string; lifecycle_status: string }>(
    platform.database.db,
    `select slug, live_deployment_id as live, lifecycle_status from services
      where live_deployment_id is not null and deleted_at is null and kind = 'web'`,
  );
  const wrong: string[] = [];
  for (const { slug, live, lifecycle_status } of services) {
    const answer = await visit(`http://${slug}.localhost`, platform.edgePort, '/deployment');
    const right = lifecycle_status === 'suspended' ? answer.status === 503 : answer.body === live;
    if (!right)
      wrong.push(`${slug} (${lifecycle_status}): ${answer.status} ${answer.body.slice(0, 80)} instead of ${live}`);
  }
  return [services.length, wrong];
}

function shown({ what, begun, ended }: Failure): string {
  return `${new Date(ended).toISOString()} after ${ended - begun} ms: ${what}`;
}
