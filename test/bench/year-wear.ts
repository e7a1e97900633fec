import { type Db, oneRow, rowsOf } from '../../shared/core/database/database-client.js';
import { print } from './measure.js';

/** How long rows are changed. Autovacuum runs once a minute. */
const WEAR_MS = Number(process.env.BENCH_WEAR_SECONDS ?? 240) * 1000;
const POLL_INTERVAL_MS = 20_000;
const BATCH = 500;
const BAR_PERCENT = 20;
/** A page of a small table is only cleaned when it is full, so the share says nothing about growth. */
const JUDGED_BYTES = 8e6;

const TABLES = ['deployments', 'services', 'replicas', 'admission_lines', 'log_counters'];

interface Bloat {
  table: string;
  live: number;
  bytes: number;
  dead: number;
}

/** Changes rows as the platform does, as fast as PostgreSQL can, and measures the share of dead rows meanwhile. */
export class Wear {
  readonly #db: Db;
  readonly #worst = new Map<string, Bloat>();

  constructor(db: Db) {
    this.#db = db;
  }

  async run(): Promise<void> {
    await this.#db.raw('create extension if not exists pgstattuple');
    const until = Date.now() + WEAR_MS;
    let looked = Date.now();
    let changes = 0;
    while (Date.now() < until) {
      changes += await this.#wear();
      if (Date.now() - looked < POLL_INTERVAL_MS) continue;
      await this.#look();
      looked = Date.now();
    }
    await this.#look();
    const vacuums = await rowsOf<{ table: string; n: number }>(
      this.#db,
      'select relname as table, autovacuum_count as n from pg_stat_user_tables where autovacuum_count > 0',
    );
    print(
      `  ${changes} rows changed in ${WEAR_MS / 1000} s; the largest share of dead rows meanwhile (bar ${BAR_PERCENT} % above ${JUDGED_BYTES / 1e6} MB):`,
    );
    for (const { table, live, bytes, dead } of this.#worst.values()) {
      const times = vacuums.find((row) => row.table === table)?.n ?? 0;
      print(
        `    ${table}: ${dead.toFixed(1)} % of ${(bytes / 1e6).toFixed(1)} MB, ${live} rows, ${times} autovacuums${dead > BAR_PERCENT && bytes > JUDGED_BYTES ? ' NOT MET' : ''}`,
      );
    }
  }

  async #wear(): Promise<number> {
    const { rows } = await this.#db.raw(
      `insert into deployments (id, workspace_id, service_id, trigger, actor, configuration, steps)
       select gen_random_uuid(), workspace_id, id, 'manual', 'bench', configuration, '[]'
         from services where deleted_at is null limit ${BATCH} returning id`,
    );
    const ids = (rows as { id: string }[]).map(({ id }) => id);
    const steps = [
      'admitted_at = now(), due_at = now()',
      `fence = fence + 1, lease_expires_at = now() + interval '10 seconds', due_at = null, started_at = now()`,
      `status = 'building', steps = '[{"name": "queued"}]'`,
      `lease_expires_at = now() + interval '10 seconds'`,
      `status = 'releasing', steps = '[{"name": "queued"}, {"name": "build"}]'`,
      `lease_expires_at = now() + interval '10 seconds'`,
      `status = 'live', went_live_at = now(), finished_at = now(), lease_expires_at = null, updated_at = now()`,
    ];
    let changed = ids.length;
    for (const step of steps) {
      await this.#db.raw(`update deployments set ${step} where id = any(:ids)`, { ids });
      changed += ids.length;
    }
    for (const statement of OTHERS) changed += ((await this.#db.raw(statement)) as { rowCount: number }).rowCount;
    return changed;
  }

  async #look(): Promise<void> {
    for (const table of TABLES) {
      const found = await oneRow<Omit<Bloat, 'table'>>(
        this.#db,
        `select tuple_count as live, table_len as bytes, dead_tuple_percent as dead from pgstattuple(cast(? as regclass))`,
        [table],
      );
      const worst = this.#worst.get(table);
      if (found && (worst === undefined || found.dead > worst.dead)) this.#worst.set(table, { table, ...found });
    }
  }
}

/** Changes of other tables than that of deployments. */
const OTHERS = [
  `insert into replicas (id, service_id, deployment_id, host_id, position, state)
   select gen_random_uuid(), id, live_deployment_id, gen_random_uuid(), 0, 'ready' from services
    where deleted_at is null and not exists (select from replicas) limit ${BATCH}`,
  ...['0', '1', '2', '3'].flatMap((digit) => [
    `update services set route_version = route_version + 1, health_checked_at = now(), updated_at = now() where id::text like '${digit}%'`,
    `update replicas set checked_at = now(), log_offset = log_offset + 100 where id::text like '${digit}%'`,
  ]),
  `update log_counters set last_id = last_id + 1`,
];
