import type { Transaction } from '../../shared/core/database/database-client.js';
import { admitDeployments, recordWaitingReasons } from '../../shared/deployments/deployment-admission.js';
import { DEPLOYMENTS } from '../../shared/deployments/kind.js';
import { takeDue, waitingWork } from '../../shared/engine/due-records.js';
import { KINDS } from '../../shared/queues/work-catalog.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import { makeWorker } from '../support/factories.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { measure, median, percentile, print } from './measure.js';
import { record } from './table.js';

const WORKSPACES = 100_000;
const WAITING = 1_000_000;
/** Every thousandth workspace has waited longer and has this many times more deployments. */
const GREEDY = 100;
const SLOTS = 64;
const ENDING = 8;
const ROUNDS = 60;

/** Measures a round of admission with 100,000 workspaces and a million waiting deployments, and its fairness. */
export async function benchAdmission(): Promise<void> {
  const database = await createTestDatabase();
  try {
    await fill(database);
    await makeWorker(database.db, SLOTS);
    await database.db('workers').update({ seen_at: database.db.raw(`now() + interval '1 hour'`) });
    await rounds(database);
  } finally {
    await database.drop();
  }
}

async function fill({ db }: TestDatabase): Promise<void> {
  const configuration = JSON.stringify({ ...DEFAULT_CONFIGURATION, repository: 'https://example.test/a/b.git' });
  await db.transaction(async (trx) => {
    // One statement below makes the queue's rows, because triggers for each row would take several minutes.
    await trx.raw('set local session_replication_role = replica');
    await trx.raw(`insert into workspaces (id, name) select gen_random_uuid(), 'W' from generate_series(1, ?)`, [
      WORKSPACES,
    ]);
    await trx.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration)
       select gen_random_uuid(), w.id, 'S', 's-' || row_number() over (), 'web', cast(? as jsonb) from workspaces w`,
      [configuration],
    );
    await trx.raw(
      `insert into deployments (id, workspace_id, service_id, trigger, actor, configuration)
       select gen_random_uuid(), s.workspace_id, s.id, 'manual', 'bench', '{}'
         from (select *, row_number() over () as place from services) s,
              generate_series(1, case when s.place % 1000 = 0 then cast(:greedy as int) * :each else :each end)
        order by s.place % 1000 <> 0, random() limit :waiting`,
      { greedy: GREEDY, each: Math.ceil(WAITING / WORKSPACES), waiting: WAITING },
    );
    await trx.raw(
      `insert into admission_lines (workspace_id, ready) select distinct workspace_id, true from deployments`,
    );
  });
  await db.raw('vacuum analyze deployments, services, workspaces, admission_lines');
}

async function rounds({ db }: TestDatabase): Promise<void> {
  const admitting: number[] = [];
  const explaining: number[] = [];
  const handing: number[] = [];
  const asking: number[] = [];
  let explained = 0;
  let admitted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    asking.push(await measure(() => waitingWork(db, KINDS)));
    await db.transaction(async (trx: Transaction) => {
      admitting.push(
        await measure(async () => {
          admitted += (await admitDeployments(trx)).length;
        }),
      );
      explaining.push(
        await measure(async () => {
          explained = await recordWaitingReasons(trx, explained);
        }),
      );
    });
    handing.push(await measure(() => db.transaction((trx) => takeDue(trx, DEPLOYMENTS, 200))));
    await db.raw(
      `update deployments set status = 'failed', finished_at = now()
        where id in (select id from deployments where finished_at is null and admitted_at is not null limit ?)`,
      [ENDING],
    );
  }
  const full = await measure(() => admitDeployments(db));
  const of = (times: number[]) => `${median(times).toFixed(1)} ms, at most ${percentile(times, 1).toFixed(1)} ms`;
  print(`  ${WORKSPACES} workspaces, ${WAITING} deployments that wait, ${ROUNDS} rounds with ${ENDING} free slots:`);
  print(`    what there is to do: ${of(asking)}; admission: ${of(admitting)}; reasons: ${of(explaining)}`);
  print(`    taking what is due: ${of(handing)}; admission of the last ${ENDING}: ${full.toFixed(1)} ms`);
  const whole = asking.map((ms, i) => ms + (admitting[i] ?? 0) + (explaining[i] ?? 0) + (handing[i] ?? 0));
  record('admission', median(whole), `at most ${percentile(whole, 1).toFixed(0)} ms`);
  print(`    a round: ${of(whole)}`);
  const { rows } = await db.raw(
    'select count(distinct workspace_id) as count from deployments where admitted_at is not null',
  );
  print(`    ${admitted} turns went to ${rows[0].count} workspaces`);
}
