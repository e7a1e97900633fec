import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Dispatcher } from '../../shared/queues/dispatcher.js';
import { createEngine } from '../../shared/queues/queue-engine.js';
import { QUEUE_NAMES, type QueueName } from '../../shared/queues/work-catalog.js';
import { WorkerPool } from '../../workers/engine/worker-pool.js';
import { HANDLERS } from '../../workers/handlers-by-queue.js';
import { LogSink } from '../../workers/logs/log-sink.js';
import type { EngineName } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { ownProcessorMs } from '../support/processor-time.js';
import { startRedis } from '../support/redis.js';
import { COMMIT, TestWorkshop } from '../support/workshop.js';
import { prepareBareJobs } from './bare-jobs.js';
import { median, print } from './measure.js';
import { postgresMs } from './postgres-time.js';
import { countStatements } from './statements.js';
import { record } from './table.js';

const JOBS = 400;
const CONCURRENCY = 8;
const ROUNDS = 5;

export interface ReadyWork {
  run(): Promise<number>;
  close(): Promise<void>;
}

/** Measures deployments that do nothing, in turns with BullMQ jobs with the same writes, and jobs without writes. */
export async function benchEngine(name: EngineName): Promise<void> {
  const workshop = await TestWorkshop.open();
  // A static site needs no replicas.
  workshop.imageType = 'static';
  const redis = name === 'redis' ? await startRedis() : null;
  const backend = { databaseUrl: workshop.database.url, redisUrl: redis?.url ?? null };
  const load = { jobs: JOBS, concurrency: CONCURRENCY };
  const kinds = [
    { title: 'deployments that do nothing', prepare: () => prepareDeployments(workshop, backend.redisUrl) },
    { title: 'bare jobs with the same changes', prepare: () => prepareBareJobs(backend, { ...load, stored: true }) },
    { title: 'bare jobs, progress only', prepare: () => prepareBareJobs(backend, { ...load, stored: false }) },
  ];
  const costs = kinds.map((): Cost[] => []);
  try {
    // The first round is a warm-up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [i, { prepare }] of kinds.entries()) {
        const cost = await costOf(await prepare());
        if (round > 0) costs[i]?.push(cost);
      }
    }
  } finally {
    await redis?.stop();
    await workshop.close();
  }
  const [ours = []] = costs;
  for (const [i, { title }] of kinds.entries()) {
    const mine = costs[i] ?? [];
    const of = (figure: keyof Cost, digits: number) => median(mine.map((cost) => cost[figure])).toFixed(digits);
    const ratio = median(ours.map(({ rate }, round) => rate / (mine[round]?.rate ?? 1)));
    if (i === 1) record('engine', ratio, `${median(ours.map(({ rate }) => rate)).toFixed(0)} of ${of('rate', 0)}/s`);
    print(`  ${title}: ${of('rate', 0)}/s${i === 0 ? '' : `, ratio ${ratio.toFixed(2)}`}`);
    const processor = `the process ${of('process', 1)} ms, PostgreSQL ${of('postgres', 1)} ms of processor`;
    print(`    each: ${of('statements', 1)} statements, ${processor}`);
  }
}

interface Cost {
  rate: number;
  /** Statements to PostgreSQL for each job; the two below are processor time in milliseconds. */
  statements: number;
  process: number;
  postgres: number;
}

async function costOf(work: ReadyWork): Promise<Cost> {
  try {
    const postgres = await postgresMs();
    const own = ownProcessorMs();
    const statements = countStatements();
    const took = await work.run();
    return {
      rate: JOBS / (took / 1000),
      statements: statements.stop() / JOBS,
      process: (ownProcessorMs() - own) / JOBS,
      postgres: ((await postgresMs()) - postgres) / JOBS,
    };
  } finally {
    await work.close();
  }
}

async function prepareDeployments(workshop: TestWorkshop, redisUrl: string | null): Promise<ReadyWork> {
  const { db, url } = workshop.database;
  const log = createLogger('bench', 'silent');
  const config = { databaseUrl: new Sensitive(url), redisUrl: redisUrl === null ? null : new Sensitive(redisUrl) };
  const engine = await createEngine(config, log, 'bench');
  const dispatcher = new Dispatcher(db, engine, log);
  const worker = await workshop.worker();
  await db('workers').update({ deploy_slots: CONCURRENCY, seen_at: db.raw(`now() + interval '1 hour'`) });
  for (let i = 0; i < JOBS; i++) await workshop.deployment({ admitted_at: null });
  const origins = { resolve: async () => ({ sha: COMMIT, message: 'Change it', description: 'Deploys a commit' }) };
  const deps = { ...worker, origins, dispatcher, logs: new LogSink(db, dispatcher) };
  const slots = Object.fromEntries(QUEUE_NAMES.map((queue) => [queue, queue === 'deploy' ? CONCURRENCY : 1]));
  const pool = new WorkerPool(deps, engine, log, slots as Record<QueueName, number>, HANDLERS);
  return {
    async run() {
      const begun = Date.now();
      dispatcher.wake();
      await eventually('all deployments have ended', async () => !(await anyOpen()), 300_000);
      const [ended] = await db('deployments').max('finished_at as last');
      return Number(ended?.last) - begun;
    },
    async close() {
      await pool.close();
      await dispatcher.close();
      await engine.close();
      await db('workers').delete();
    },
  };

  async function anyOpen(): Promise<boolean> {
    return (await db('deployments').whereNull('finished_at').first('id')) !== undefined;
  }
}
