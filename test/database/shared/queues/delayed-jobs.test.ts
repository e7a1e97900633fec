import { expect } from 'chai';
import pg from 'pg';
import { createLogger } from '../../../../shared/core/log.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import { JOBS_CHANNEL } from '../../../../shared/queues/job-turns.js';
import { createEngine, type Engine } from '../../../../shared/queues/queue-engine.js';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres.js';
import { eventually } from '../../../support/processes.js';

describe('Delayed jobs on PostgreSQL', () => {
  let database: TestDatabase;
  let engine: Engine;
  let client: pg.Client;
  const heard: string[] = [];
  before(async () => {
    database = await createTestDatabase();
    const config = { databaseUrl: new Sensitive(database.url), redisUrl: null };
    engine = await createEngine(config, createLogger('test', 'silent'), 'test');
    await engine.queues.detection.add('detection', {}, { delay: 200 });
    await engine.queues.run.add('run', {}, { delay: 3_600_000 });
    // The client listens only now, because the queue announces jobs that are added, too.
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    client.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await client.query(`listen ${JOBS_CHANNEL}`);
  });
  after(async () => {
    await client.end();
    await engine.close();
    await database.drop();
  });

  it('are announced to all workers when their time has come, although the worker that delayed them is gone', async () => {
    await eventually('the job is announced', async () => {
      await engine.announceDelayed();
      return heard.length > 0;
    });
    expect(new Set(heard)).to.deep.equal(new Set(['detection']));
  });
});
