import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'bullmq';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { createLogger } from '../../../../shared/core/log.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { BullPool } from '../../../../shared/queues/bull-pool.js';
import { createEngine, type Engine } from '../../../../shared/queues/queue-engine.js';
import { QUEUES, type QueueName } from '../../../../shared/queues/work-catalog.js';
import { describeEngines } from '../../../support/platform.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';
import { startRedis, type TestRedis } from '../../../support/redis.js';

describeEngines('The queue engine', (name) => {
  const database = useTestDatabase();
  let redis: TestRedis | null = null;
  let engine: Engine;
  const workers: Worker[] = [];
  const done: string[] = [];

  before(async () => {
    redis = name === 'redis' ? await startRedis() : null;
    const config = {
      databaseUrl: new Sensitive(database.url),
      redisUrl: redis ? new Sensitive(redis.url) : null,
    };
    engine = await createEngine(config, createLogger('test', 'silent'), 'test');
    for (const queue of ['detection', 'commit'] as const) {
      const { connection, backendFactory } = engine.workerConnection();
      const worker = new Worker(
        queue,
        async (job) => {
          done.push(job.id ?? '');
        },
        // A worker that misses a wake-up would not look again within the time of a test.
        { connection, concurrency: 50, drainDelay: 600 },
        backendFactory,
      );
      worker.on('error', () => undefined);
      workers.push(worker);
    }
  });

  after(async () => {
    for (const worker of workers) await worker.close();
    await engine.close();
    await redis?.stop();
  });

  async function run(queue: QueueName, count: number): Promise<void> {
    const ids = Array.from({ length: count }, () => uuidv7());
    await engine.add(ids.map((recordId) => ({ queue, recordId, dispatch: 1, payload: { detectionId: recordId } })));
    await eventually('the jobs have ended', () => ids.every((id) => done.includes(`${queue}-${id}-1`)));
  }

  it('wakes the workers of each queue', async () => {
    for (const queue of ['detection', 'commit', 'detection', 'commit'] as const) await run(queue, 1);
    expect(done, 'each job once').to.have.length(4);
  });

  it('keeps as many finished jobs as it should', async () => {
    const { count } = QUEUES.detection.keepCompleted;
    await run('detection', 1);
    // Jobs that ended within 5 ms of the oldest kept job are kept with it.
    await delay(50);
    await run('detection', count + 1);
    const { detection } = engine.queues;
    await eventually('their ends are recorded', async () => (await detection.getJobCountByTypes('active')) === 0);
    await engine.removeOldJobs();
    expect(await detection.getCompletedCount())
      .to.be.at.least(count)
      .and.at.most(count + 1);
  });

  if (name !== 'postgres') return;

  it('listens on one connection for all workers of a process', async () => {
    await run('commit', 1);
    expect(await listeners()).to.have.length(1);
  });

  it('listens again after its connection was lost', async () => {
    const count = done.length;
    const before = await listeners();
    await database.db.raw('select pg_terminate_backend(pid) from pg_stat_activity where pid = any(?)', [before]);
    await eventually('another one listens', async () => {
      const now = await listeners();
      return now.length === 1 && now[0] !== before[0];
    });
    for (const queue of ['detection', 'commit'] as const) await run(queue, 1);
    expect(done).to.have.length(count + 2);
  });

  it('fails only the command whose connection was lost', async () => {
    const pool = new BullPool(database.url, 'test-lost', 2).on('error', () => undefined);
    try {
      const sleeping = pool.query('select pg_sleep($1)', [60]).then(
        () => 'slept',
        () => 'failed',
      );
      await eventually('its connection is lost', async () => {
        const { rows } = await database.db.raw(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = 'test-lost' and state = 'active' and query like 'select pg_sleep%'`,
        );
        return rows.length > 0;
      });
      expect(await sleeping).to.equal('failed');
      expect((await pool.query('select $1::int as one', [1])).rows).to.deep.equal([{ one: 1 }]);
    } finally {
      await pool.end();
    }
  });

  it('goes on after the columns of a prepared command have changed', async () => {
    await run('commit', 1);
    const before = done.length;
    await database.db.raw('alter table bullmq.job add column test_only integer');
    await run('commit', 1);
    expect(done).to.have.length(before + 1);
  });

  async function listeners(): Promise<number[]> {
    const { rows } = await database.db.raw(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'test-queues-listener'`,
    );
    return rows.map(({ pid }: { pid: number }) => pid);
  }
});
