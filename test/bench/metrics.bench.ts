import { randomUUID } from 'node:crypto';
import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { readMetrics, rollUp } from '../../shared/metrics/history-store.js';
import { LATENCY_BOUNDS, RESOLUTIONS, ROWS_PER_SERVICE } from '../../shared/metrics/model.js';
import { recordTraffic, type Traffic } from '../../workers/edge/traffic-store.js';
import type { EngineName } from '../support/platform.js';
import { createTestDatabase } from '../support/postgres.js';
import { median, print } from './measure.js';

const FULL = 200;
const REPORTING = 1000;
const ROUNDS = 7;

/** Measures services' metrics: the size of a complete history, an edge's report, a roll-up, a read. */
export async function benchMetrics(engine: EngineName): Promise<void> {
  // Metrics do not depend on the queue engine.
  if (engine !== 'postgres') return;
  const database = await createTestDatabase();
  const { db } = database;
  try {
    const ids = Array.from({ length: REPORTING }, () => randomUUID());
    const latency = LATENCY_BOUNDS.map((_, index) => index % 7).concat(0);
    await fill(db, ids.slice(0, FULL), latency);
    const [size] = await rowsOf<{ bytes: number }>(db, `select pg_total_relation_size('service_metrics') as bytes`);
    const bytes = (size?.bytes ?? 0) / FULL;
    print(
      `  ${ROWS_PER_SERVICE} rows a service take ${Math.round(bytes / 1024)} kB, 1,000 services ${Math.round((bytes / 1024 / 1024) * 1000)} MB`,
    );

    const traffic = ids.map(
      (serviceId): Traffic => ({ serviceId, classes: [90, 5, 4, 1], bytesOut: 1_000_000, latency }),
    );
    print(
      `  an edge's report of ${REPORTING} services: ${(await timed(() => recordTraffic(db, traffic))).toFixed(0)} ms`,
    );
    print(`  a roll-up: ${(await timed(() => rollUp(db))).toFixed(0)} ms`);
    for (const { hours, step } of RESOLUTIONS) {
      const read = () => readMetrics(db, ids[0] ?? '', hours);
      print(`  a read of ${hours} hours in steps of ${step} s: ${(await timed(read)).toFixed(1)} ms`);
    }
  } finally {
    await database.drop();
  }
}

async function fill(db: Db, ids: readonly string[], latency: readonly number[]): Promise<void> {
  for (const { step, hours } of RESOLUTIONS) {
    await rowsOf(
      db,
      `insert into service_metrics
       select id, ?, date_bin(make_interval(secs => ?), now(), 'epoch') - make_interval(secs => ? * n), 1, 2, 2, 80, 90,
              100, 10, 5, 1, 123456, ?::integer[]
         from generate_series(0, ?) n, unnest(?::uuid[]) id`,
      [step, step, step, latency, (hours * 3600) / step - 1, ids],
    );
  }
  await db.raw('vacuum analyze service_metrics');
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const at = performance.now();
    await work();
    times.push(performance.now() - at);
  }
  return median(times);
}
