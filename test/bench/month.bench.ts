import { readLogs } from '../../api/resources/logs/read-lines.js';
import { createDatabase, type Db, rowsOf } from '../../shared/core/database/database-client.js';
import { dropExpiredLogs, ensureLogDays } from '../../shared/logs/log-retention.js';
import type { PlanId } from '../../shared/services/plan-catalog.js';
import { storeLines } from '../../workers/logs/store-lines.js';
import { makeService } from '../support/factories.js';
import { createTestDatabase } from '../support/postgres.js';
import { measure, median, print } from './measure.js';

const PLANS: readonly PlanId[] = ['free', 'starter', 'standard', 'pro'];
const DAYS = 45;
const MAX_KEPT_DAYS = 31;
const SHOWN_EVERY = 5;
const BATCHES_OF_A_DAY = 60;
const LINES_OF_A_BATCH = 1000;
const DAY_MS = 86_400_000;
/** Lines per second of the four services together. */
const LINES_A_SECOND = 2000;

interface Day {
  linesPerSecond: number;
  sweepMs: number;
  megabytes: number;
  newestMs: number;
  searchMs: number;
}

/** Simulates 45 days of logs. After the longest retention, size and times must not grow. */
export async function benchMonth(): Promise<void> {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  url.searchParams.set('options', '-c search_path=public,motion,pg_catalog');
  const db = createDatabase({ url: url.href, name: 'bench' });
  try {
    await new Month(database.db, db).run();
  } finally {
    await db.destroy();
    await database.drop();
  }
}

class Month {
  readonly #setup: Db;
  readonly #db: Db;
  #today = new Date(new Date().setUTCHours(0, 0, 0, 0));

  /** For statements of `db`, `now()` is the simulated time; for those of `setup`, the real time. */
  constructor(setup: Db, db: Db) {
    this.#setup = setup;
    this.#db = db;
  }

  async run(): Promise<void> {
    await this.#setup.raw(`create schema motion; create table motion.clock as select now() as at;
      create function motion.now() returns timestamptz stable language sql as 'select at from motion.clock'`);
    const services: string[] = [];
    for (const plan of PLANS) services.push((await makeService(this.#setup, undefined, { plan })).id);
    const realDay = (LINES_A_SECOND * DAY_MS) / 1000;
    const lines = PLANS.length * BATCHES_OF_A_DAY * LINES_OF_A_BATCH;
    print(`  ${lines} lines a day stand for ${realDay} (${LINES_A_SECOND} a second)`);
    const days: Day[] = [];
    for (let day = 1; day <= DAYS; day++) {
      const found = await this.#day(services);
      days.push(found);
      if (day % SHOWN_EVERY === 0) print(`  day ${day}: ${describe(found)}`);
      this.#today = new Date(this.#today.getTime() + DAY_MS);
    }
    const first = average(days.slice(MAX_KEPT_DAYS, MAX_KEPT_DAYS + SHOWN_EVERY));
    const last = average(days.slice(-SHOWN_EVERY));
    const ratio = (of: (day: Day) => number) => (of(last) / of(first)).toFixed(2);
    print(
      `  days ${DAYS - SHOWN_EVERY + 1} to ${DAYS} against days ${MAX_KEPT_DAYS + 1} to ${MAX_KEPT_DAYS + SHOWN_EVERY}: size ${ratio(({ megabytes }) => megabytes)},` +
        ` lines/s ${ratio(({ linesPerSecond }) => linesPerSecond)}, newest ${ratio(({ newestMs }) => newestMs)}, search ${ratio(({ searchMs }) => searchMs)}`,
    );
  }

  async #day(services: readonly string[]): Promise<Day> {
    const ingestMs = await measure(() => Promise.all(services.map((serviceId) => this.#print(serviceId))));
    await this.#setup('clock')
      .withSchema('motion')
      .update({ at: new Date(this.#today.getTime() + DAY_MS) });
    const sweepMs = await measure(async () => {
      await ensureLogDays(this.#db);
      await dropExpiredLogs(this.#db);
    });
    // Autovacuum runs once a minute, which is too late for a simulated day of a few seconds.
    await this.#setup.raw('analyze log_lines');
    const serviceId = services.at(-1) ?? '';
    const [size] = await rowsOf<{ bytes: number }>(
      this.#db,
      `select sum(pg_total_relation_size(inhrelid))::bigint as bytes from pg_inherits where inhparent = 'log_lines'::regclass`,
    );
    return {
      linesPerSecond: (services.length * BATCHES_OF_A_DAY * LINES_OF_A_BATCH * 1000) / ingestMs,
      sweepMs,
      megabytes: (size?.bytes ?? 0) / 2 ** 20,
      newestMs: await this.#read(serviceId),
      searchMs: await this.#read(serviceId, 'nothing like this'),
    };
  }

  async #print(serviceId: string): Promise<void> {
    for (let batch = 0; batch < BATCHES_OF_A_DAY; batch++) {
      const timestamp = new Date(this.#today.getTime() + (batch * DAY_MS) / BATCHES_OF_A_DAY).toISOString();
      const lines = Array.from({ length: LINES_OF_A_BATCH }, (_, i) => ({
        level: 'info' as const,
        message: `GET /orders/${i} answered 200 in ${i % 97} ms for a customer of a shop that prints ordinary lines`,
        timestamp,
      }));
      await storeLines(this.#db, { serviceId, deploymentId: null, source: 'runtime', lines });
    }
  }

  /** Returns the median duration of a read of a service's newest lines, or of a search in 30 days, in milliseconds. */
  async #read(serviceId: string, search?: string): Promise<number> {
    const now = new Date(this.#today.getTime() + DAY_MS);
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      times.push(await measure(() => readLogs(this.#db, { serviceId, hours: 720, limit: 500, search }, now)));
    }
    return median(times);
  }
}

function describe({ linesPerSecond, sweepMs, megabytes, newestMs, searchMs }: Day): string {
  const rounded = [linesPerSecond, sweepMs, megabytes, newestMs, searchMs].map((figure) => figure.toFixed(0));
  return `${rounded[0]} lines/s, sweep ${rounded[1]} ms, ${rounded[2]} MB, newest 500 ${rounded[3]} ms, search without a match ${rounded[4]} ms`;
}

function average(days: readonly Day[]): Day {
  const of = (figure: (day: Day) => number) => days.reduce((sum, day) => sum + figure(day), 0) / days.length;
  return {
    linesPerSecond: of(({ linesPerSecond }) => linesPerSecond),
    sweepMs: of(({ sweepMs }) => sweepMs),
    megabytes: of(({ megabytes }) => megabytes),
    newestMs: of(({ newestMs }) => newestMs),
    searchMs: of(({ searchMs }) => searchMs),
  };
}
