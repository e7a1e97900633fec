import { createPostgresBackend, Queue, Worker, type WorkerOptions } from 'bullmq';
import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { BullPool } from '../../shared/queues/bull-pool.js';
import { Dispatcher } from '../../shared/queues/dispatcher.js';
import { createEngine } from '../../shared/queues/engine.js';
import { LogSink } from '../../workers/log-sink.js';
import { WorkerPool } from '../../workers/worker-pool.js';
import type { EngineName } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { TestWorkshop } from '../support/workshop.js';
import { measure, median, print } from './measure.js';

const JOBS = 200;
const CONCURRENCY = 8;
const ROUNDS = 3;
/** A deployment is queued, building, releasing and switched, and then live. */
const TRANSITIONS = 4;

/**
 * Deployments whose source, builder and runtime do nothing, against bare jobs of BullMQ on the same backend in the same
 * process. A bare job records as many transitions in its progress.
 */
export async function benchEngine(name: EngineName): Promise<void> {
  const workshop = await TestWorkshop.open();
  // Replicas are work of the runtime, which does nothing here.
  workshop.imageType = 'static';
  const redis = name === 'redis' ? await startRedis() : null;
  try {
    const ours: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push(await bareJobs(workshop.database.url, redis?.url ?? null, round));
      ours.push(await deployments(workshop, redis?.url ?? null));
    }
    const [a, b] = [median(ours), median(bare)];
    print(`  deployments that do nothing: ${a.toFixed(0)}/s, bare jobs ${b.toFixed(0)}/s, ratio ${(a / b).toFixed(2)}`);
  } finally {
    await redis?.stop();
    await workshop.close();
  }
}

/** Deployments a second. */
async function deployments(workshop: TestWorkshop, redisUrl: string | null): Promise<number> {
  const { db, url } = workshop.database;
  const log = createLogger('bench', 'silent');
  const config = { databaseUrl: new Sensitive(url), redisUrl: redisUrl === null ? null : new Sensitive(redisUrl) };
  const engine = await createEngine(config, log, 'bench');
  const dispatcher = new Dispatcher(db, engine, log);
  const worker = await workshop.worker();
  await db('workers').update({ deploy_slots: CONCURRENCY, seen_at: db.raw(`now() + interval '1 hour'`) });
  for (let i = 0; i < JOBS; i++) await workshop.deployment({ admitted_at: null });
  const open = async () =>
    Number((await db('deployments').whereNull('finished_at').count({ count: '*' }).first())?.count);
  const deps = { ...worker, dispatcher, logs: new LogSink(db, dispatcher) };
  const one = {
    'runtime-action': 1,
    deletion: 1,
    'routing-reconciliation': 1,
    'log-ingest': 4,
    run: 1,
    backup: 1,
    restore: 1,
    detection: 1,
    commit: 1,
  };
  const pool = new WorkerPool(deps, engine, log, { deploy: CONCURRENCY, ...one });
  try {
    const took = await measure(async () => {
      dispatcher.wake();
      await eventually('all deployments have ended', async () => (await open()) === 0, 300_000);
    });
    return JOBS / (took / 1000);
  } finally {
    await pool.close();
    await dispatcher.close();
    await engine.close();
    await db('workers').delete();
  }
}

/** Jobs a second. */
async function bareJobs(databaseUrl: string, redisUrl: string | null, round: number): Promise<number> {
  const pool = redisUrl === null ? new BullPool(databaseUrl, 'bare', 15) : null;
  const connection = (pool ?? { url: redisUrl, maxRetriesPerRequest: null }) as unknown as WorkerOptions['connection'];
  const backend = (pool ? createPostgresBackend : undefined) as undefined;
  const queue = new Queue(`bare-${round}`, { connection }, backend);
  let done = 0;
  const worker = new Worker(
    queue.name,
    async (job) => {
      for (let i = 0; i < TRANSITIONS; i++) await job.updateProgress({ now: `transition ${i}` });
      done += 1;
    },
    { connection, concurrency: CONCURRENCY },
    backend,
  );
  try {
    const took = await measure(async () => {
      await queue.addBulk(Array.from({ length: JOBS }, (_, i) => ({ name: 'bare', data: { id: i } })));
      await eventually('all jobs have ended', () => done === JOBS, 300_000);
    });
    return JOBS / (took / 1000);
  } finally {
    await worker.close();
    await queue.close();
    await pool?.end();
  }
}
