import { type LogQuery, readLogs } from '../../api/resources/logs/read-lines.js';
import { dropExpiredLogs } from '../../shared/logs/log-retention.js';
import type { LogLine } from '../../shared/logs/model.js';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { ingestTurn } from '../../workers/logs/ingest-batches.js';
import { storeLines } from '../../workers/logs/store-lines.js';
import { makeService } from '../support/factories.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { measure, median, print } from './measure.js';
import { addLines } from './scale-records.js';
import { record } from './table.js';

const APPLICATIONS = 4;
const LINES_OF_A_BATCH = 1000;
const BATCHES = 40;
const ROUNDS = 3;
const LARGE = 10_000_000;

/** Measures the tables of the log: lines stored per second, and reads from a service with ten million lines. */
export async function benchLogs(): Promise<void> {
  const database = await createTestDatabase();
  try {
    await new Logs(database).run();
  } finally {
    await database.drop();
  }
}

class Logs {
  readonly #database: TestDatabase;
  #slowestSearch = 0;

  constructor(database: TestDatabase) {
    this.#database = database;
  }

  async run(): Promise<void> {
    const { db } = this.#database;
    await db.raw(
      `create table bare_lines (service_id uuid, id bigint, source text, level text, message text,
                                logged_at timestamptz(3), primary key (service_id, id))`,
    );
    const found: { bare: number; stored: number; ingested: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      found.push({
        bare: await this.#speed((serviceId, batch) => this.#insertBare(serviceId, batch)),
        stored: await this.#speed(async (serviceId) => {
          await db.transaction((trx) =>
            storeLines(trx, { serviceId, deploymentId: null, source: 'runtime', lines: lines() }),
          );
        }),
        ingested: await this.#speed(async (serviceId) => {
          await insertLogBatches(db, [{ serviceId, deploymentId: null, source: 'runtime', lines: lines() }]);
          await ingestTurn(db, serviceId);
        }),
      });
    }
    found.shift();
    const of = (figure: (round: (typeof found)[number]) => number) => median(found.map(figure)).toFixed(0);
    print(
      `  lines/s of ${APPLICATIONS} applications: ${of(({ stored }) => stored)} stored at once, ${of(({ ingested }) => ingested)} as batches` +
        ` (without their jobs), ${of(({ bare }) => bare)} bare inserts,` +
        ` ratio ${median(found.map(({ stored, bare }) => stored / bare)).toFixed(2)}`,
    );
    record('lines', median(found.map(({ stored }) => stored)), `bare inserts ${of(({ bare }) => bare)}/s`);
    await db.raw('drop table bare_lines');
    await this.#large();
  }

  /** Four writers write at once, each for its own service. */
  async #speed(store: (serviceId: string, batch: number) => Promise<void>): Promise<number> {
    const { db } = this.#database;
    const services = await Promise.all(Array.from({ length: APPLICATIONS }, () => makeService(db)));
    const ms = await measure(() =>
      Promise.all(
        services.map(async ({ id }) => {
          for (let batch = 0; batch < BATCHES; batch++) await store(id, batch);
        }),
      ),
    );
    return (APPLICATIONS * BATCHES * LINES_OF_A_BATCH * 1000) / ms;
  }

  async #insertBare(serviceId: string, batch: number): Promise<void> {
    const all = lines();
    await this.#database.db.raw(
      `insert into bare_lines select cast(:serviceId as uuid), :first + n, 'runtime', 'info', message, now()
         from unnest(cast(:messages as text[])) with ordinality as l(message, n)`,
      { serviceId, first: batch * LINES_OF_A_BATCH, messages: all.map(({ message }) => message) },
    );
  }

  async #large(): Promise<void> {
    const { db } = this.#database;
    const service = await makeService(db, undefined, { plan: 'pro' });
    await addLines(db, service.id, LARGE);
    const [size] = (
      await db.raw(
        `select sum(pg_total_relation_size(inhrelid))::bigint as bytes from pg_inherits where inhparent = 'log_lines'::regclass`,
      )
    ).rows as { bytes: number }[];
    print(`  ${LARGE} lines of one service: ${((size?.bytes ?? 0) / LARGE).toFixed(0)} bytes a line with its indexes`);
    const month = { serviceId: service.id, hours: 30 * 24, limit: 500 };
    await this.#read('the newest 500', month);
    await this.#read('500 after a cursor', { ...month, after: LARGE / 2 });
    await this.#read('a search that matches often', { ...month, search: 'answered' });
    await this.#read('a search that matches nothing', { ...month, search: 'nothing like this' });
    await this.#read('a search that matches nothing, after a cursor', { ...month, search: 'nothing like', after: 0 });
    const [{ name = '' } = {}] = (
      await db.raw(
        `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'log_lines'::regclass and c.relname ~ '[0-9]$' order by pg_relation_size(c.oid) desc limit 1`,
      )
    ).rows as { name?: string }[];
    await db.raw('alter table log_lines detach partition ??', [name]);
    await db.raw('alter table ?? rename to log_lines_20000101', [name]);
    await db.raw(`update log_lines_20000101 set expires_on = '2000-01-01'`);
    await db.raw(
      `alter table log_lines attach partition log_lines_20000101 for values from ('2000-01-01') to ('2000-01-02')`,
    );
    print(
      `  a day of ${Math.round(LARGE / 29)} lines dropped in ${(await measure(() => dropExpiredLogs(db))).toFixed(0)} ms`,
    );
  }

  async #read(name: string, query: LogQuery): Promise<void> {
    const times: number[] = [];
    let end = '';
    for (let i = 0; i < 5; i++) {
      times.push(
        await measure(async () => {
          const { lines: found, hasMore, unsearchedBefore } = await readLogs(this.#database.db, query);
          end = `${found.length} lines${hasMore || unsearchedBefore !== null ? ', more follow' : ''}`;
        }),
      );
    }
    if (query.search !== undefined) {
      this.#slowestSearch = Math.max(this.#slowestSearch, median(times));
      record('search', this.#slowestSearch);
    }
    print(`  ${name}: ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms (${end})`);
  }
}

function lines(): LogLine[] {
  const timestamp = new Date().toISOString();
  return Array.from({ length: LINES_OF_A_BATCH }, (_, i) => ({
    level: 'info',
    message: `GET /orders/${i} answered 200 in ${i % 97} ms for a customer of a shop that prints lines of ordinary length`,
    timestamp,
  }));
}
