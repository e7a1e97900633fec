import { createPostgresBackend, type Job, Queue, Worker, type WorkerOptions } from 'bullmq';
import pg from 'pg';
import type { ReadyWork } from './engine.bench.js';
import { measure } from './measure.js';

const STATES = ['building', 'releasing', 'switched', 'live'];
const LINES = ['Deploys a commit', 'The image is stored', 'The release is healthy'];

export interface BareLoad {
  jobs: number;
  concurrency: number;
  stored: boolean;
}

/** The settings of the platform's own connections to the queues. */
const QUEUE_POOL = { max: 15, keepAlive: true, options: '-c search_path=bullmq -c synchronous_commit=off' };

let run = 0;

/** Prepares BullMQ jobs as one would write them without this platform: no fence, lease, admission or outbox. */
export async function prepareBareJobs(
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string | null },
  { jobs, concurrency, stored }: BareLoad,
): Promise<ReadyWork> {
  const queuePool = redisUrl === null ? new pg.Pool({ ...QUEUE_POOL, connectionString: databaseUrl }) : null;
  const connection = (queuePool ?? {
    url: redisUrl,
    maxRetriesPerRequest: null,
  }) as unknown as WorkerOptions['connection'];
  const backend = (queuePool ? createPostgresBackend : undefined) as undefined;
  const records = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  const queue = new Queue(`bare-${run++}`, { connection }, backend);
  const ids = await storeRecords(records, jobs);
  let done = 0;
  let allDone: () => void = () => undefined;
  const worker = new Worker(
    queue.name,
    async (job) => {
      await perform(job, stored ? records : null);
      done += 1;
      if (done === jobs) allDone();
    },
    { connection, concurrency },
    backend,
  );
  return {
    run: () =>
      measure(async () => {
        const ended = new Promise<void>((resolve) => {
          allDone = resolve;
        });
        await queue.addBulk(ids.map((id) => ({ name: 'bare', data: { id } })));
        await ended;
      }),
    async close() {
      await worker.close();
      await queue.close();
      await queuePool?.end();
      await records.end();
    },
  };
}

async function storeRecords(records: pg.Pool, count: number): Promise<string[]> {
  await records.query(
    `create table if not exists bare_deployments (id uuid primary key, status text not null default 'queued',
       created_at timestamptz not null default now(), updated_at timestamptz, finished_at timestamptz);
     create table if not exists bare_lines (id bigserial primary key, deployment_id uuid not null,
       logged_at timestamptz not null default now(), message text not null)`,
  );
  const { rows } = await records.query<{ id: string }>(
    'insert into bare_deployments (id) select gen_random_uuid() from generate_series(1, $1) returning id',
    [count],
  );
  return rows.map(({ id }) => id);
}

async function perform(job: Job<{ id: string }>, records: pg.Pool | null): Promise<void> {
  for (const [i, state] of STATES.entries()) {
    await records?.query(
      `update bare_deployments set status = $2, updated_at = now(), finished_at = case when $2 = 'live' then now() end where id = $1`,
      [job.data.id, state],
    );
    await job.updateProgress({ now: state });
    const line = LINES[i];
    if (line === undefined) continue;
    await records?.query('insert into bare_lines (deployment_id, message) values ($1, $2)', [job.data.id, line]);
  }
}
