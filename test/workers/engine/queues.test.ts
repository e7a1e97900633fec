import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { Sensitive } from '../../../shared/core/sensitive.js';
import { requestCancel } from '../../../shared/engine/cancel-requests.js';
import type { WorkKind } from '../../../shared/engine/kind.js';
import { Dispatcher } from '../../../shared/queues/dispatcher.js';
import { createEngine, type Engine } from '../../../shared/queues/queue-engine.js';
import { jobOf, KINDS } from '../../../shared/queues/work-catalog.js';
import { WorkerPool } from '../../../workers/engine/worker-pool.js';
import { makeWorkspace } from '../../support/factories.js';
import { ENGINES } from '../../support/platform.js';
import { eventually, PlatformProcess } from '../../support/processes.js';
import { startRedis, type TestRedis } from '../../support/redis.js';
import { scriptedHandlers } from '../../support/scripted-handlers.js';
import { type Row, recordMaker } from '../../support/work-records.js';
import { TestWorkshop, untilAborted } from '../../support/workshop.js';

const log = createLogger('test', 'silent');
/** Longer than a busy machine needs to find a lost job. */
const LONG_MS = 90_000;

class Road {
  readonly workshop: TestWorkshop;
  readonly engine: Engine;
  readonly redis: TestRedis | null;
  readonly dispatcher: Dispatcher;
  readonly scripts = new Map<string, (signal: AbortSignal) => Promise<unknown>>();
  readonly begun = new Map<string, number>();
  readonly #pools = new Set<WorkerPool>();

  private constructor(workshop: TestWorkshop, engine: Engine, redis: TestRedis | null) {
    this.workshop = workshop;
    this.engine = engine;
    this.redis = redis;
    this.dispatcher = new Dispatcher(workshop.database.db, engine, log);
  }

  static async open(name: (typeof ENGINES)[number]): Promise<Road> {
    const workshop = await TestWorkshop.open();
    const redis = name === 'redis' ? await startRedis() : null;
    const config = {
      databaseUrl: new Sensitive(workshop.database.url),
      redisUrl: redis === null ? null : new Sensitive(redis.url),
    };
    return new Road(workshop, await createEngine(config, log, 'test'), redis);
  }

  get db() {
    return this.workshop.database.db;
  }

  async record(kind: WorkKind): Promise<string> {
    const { id: workspaceId } = await makeWorkspace(this.db);
    const id = await recordMaker(kind)(this.workshop, workspaceId);
    await this.db(kind.table).where({ id }).update({ due_at: this.db.fn.now(), dispatches: 1 });
    return id;
  }

  async worker(): Promise<WorkerPool> {
    const handlers = scriptedHandlers((id, signal) => {
      this.begun.set(id, this.times(id) + 1);
      return this.scripts.get(id)?.(signal) ?? Promise.resolve();
    });
    const pool = new WorkerPool(await this.workshop.worker(), this.engine, log, {}, handlers);
    this.#pools.add(pool);
    return pool;
  }

  times(id: string): number {
    return this.begun.get(id) ?? 0;
  }

  async ended(kind: WorkKind, id: string): Promise<boolean> {
    const row = await this.db(kind.table).where({ id }).first();
    return row === undefined || row.finished_at != null;
  }

  async untilEnded(kind: WorkKind, id: string): Promise<void> {
    await eventually(`the record of ${kind.table} has ended`, () => this.ended(kind, id), LONG_MS);
  }

  async untilBegun(kind: WorkKind, id: string): Promise<void> {
    await eventually(`the work of ${kind.table} has begun`, async () => this.times(id) > 0, LONG_MS);
  }

  async flush(): Promise<void> {
    if (this.redis !== null) return this.redis.flush();
    for (const queue of Object.values(this.engine.queues)) await queue.obliterate({ force: true });
  }

  /** Searches for lost jobs, as if the record had waited for a long time. */
  async reconcile(kind: WorkKind, id: string): Promise<void> {
    if (kind.abandoned === null) return;
    await this.db(kind.table)
      .where({ id })
      .update({ [kind.abandoned.touched]: new Date(0) });
    await this.dispatcher.reconcile();
  }

  async stopWorkers(): Promise<void> {
    for (const pool of this.#pools) await pool.close();
    this.#pools.clear();
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.dispatcher.close();
    await this.engine.close();
    await this.redis?.stop();
    await this.workshop.close();
  }
}

type Case = [
  title: string,
  check: (road: Road, kind: WorkKind, id: string) => Promise<unknown>,
  of?: (kind: WorkKind) => boolean,
];

const isFound = ({ abandoned }: WorkKind) => abandoned !== null;

/** Cases for a record of each kind, which no worker has claimed yet. */
const CASES: Case[] = [
  [
    'is done once',
    async (road, kind, id) => {
      await road.worker();
      await road.dispatcher.dispatch();
      await road.untilEnded(kind, id);
      expect(road.times(id)).to.equal(1);
    },
  ],
  [
    'is done although the queue was flushed while it waited',
    async (road, kind, id) => {
      await road.dispatcher.dispatch();
      await road.flush();
      await road.reconcile(kind, id);
      await road.worker();
      await road.untilEnded(kind, id);
    },
    isFound,
  ],
  [
    'ends once although the queue was flushed while it was worked on',
    async (road, kind, id) => {
      const gate = new EventEmitter();
      road.scripts.set(id, () => once(gate, 'open'));
      await road.worker();
      await road.dispatcher.dispatch();
      await road.untilBegun(kind, id);
      await road.flush();
      gate.emit('open');
      await road.untilEnded(kind, id);
      await road.reconcile(kind, id);
      expect(road.times(id)).to.equal(1);
    },
  ],
  [
    'goes to another worker when its own shuts down',
    async (road, kind, id) => {
      road.scripts.set(
        id,
        untilAborted(() => undefined),
      );
      const first = await road.worker();
      await road.dispatcher.dispatch();
      await road.untilBegun(kind, id);
      await first.close();
      expect(await road.ended(kind, id)).to.equal(false);
      road.scripts.delete(id);
      await road.worker();
      await road.untilEnded(kind, id);
      expect(road.times(id)).to.equal(2);
    },
  ],
  [
    'stops and shows it when its cancellation is requested in the work',
    async (road, kind, id) => {
      road.scripts.set(
        id,
        untilAborted(() => undefined),
      );
      await road.worker();
      await road.dispatcher.dispatch();
      await road.untilBegun(kind, id);
      expect(await road.db.transaction((trx) => requestCancel(trx, kind, { id }))).to.equal(1);
      await road.untilEnded(kind, id);
      expect((await road.db<Row>(kind.table).where({ id }).first())?.status).to.equal('cancelled');
    },
    ({ lease }) => lease?.cancellable === true,
  ],
  [
    'has one end although two of its jobs run at once',
    async (road, kind, id) => {
      // The column of the kind selects the queue, as in the dispatcher.
      const [row] = await road.db(kind.table).where({ id });
      const due = { id, kind: row[kind.queueBy?.column ?? ''] ?? null };
      await road.db(kind.table).where({ id }).update({ due_at: null });
      const both = new EventEmitter();
      road.scripts.set(id, async () => {
        if (road.times(id) === 1) await once(both, 'begun');
        else both.emit('begun');
      });
      await road.worker();
      await road.engine.add([jobOf(kind, { ...due, dispatches: 1 }), jobOf(kind, { ...due, dispatches: 2 })]);
      await road.untilEnded(kind, id);
      expect(road.times(id)).to.equal(2);
    },
    // Records of the other kinds wait for one another.
    ({ lease }) => lease?.aloneInWorkspace === undefined,
  ],
];

for (const name of ENGINES) {
  describe(`Work of every kind (queues on ${name})`, function () {
    this.timeout(2 * LONG_MS);
    let road: Road;
    before(async () => {
      road = await Road.open(name);
    });
    const recordsOfEachKind = () =>
      Promise.all((KINDS as readonly WorkKind[]).map(async (kind) => ({ kind, id: await road.record(kind) })));
    afterEach(() => road.stopWorkers());
    after(() => road.close());

    for (const [title, check, of = () => true] of CASES) {
      for (const kind of (KINDS as readonly WorkKind[]).filter(of)) {
        it(`a record of ${kind.table} ${title}`, async () => check(road, kind, await road.record(kind)));
      }
    }

    // The queues wait for seconds before they try again.
    it('a record of each kind is tried again by its queue after a fault of the platform', async () => {
      const records = await recordsOfEachKind();
      for (const { id } of records) {
        road.scripts.set(id, async () => {
          if (road.times(id) === 1) throw new Error('the disk is away');
        });
      }
      await road.worker();
      await road.dispatcher.dispatch();
      await Promise.all(records.map(({ kind, id }) => road.untilEnded(kind, id)));
      for (const { kind, id } of records) expect(road.times(id), kind.table).to.equal(2);
    });

    it('a record of each kind is done by another worker if its own is killed in the work', async () => {
      const records = await recordsOfEachKind();
      const program = ['dist/test/support/hanging-worker.js', road.workshop.database.url, road.redis?.url ?? ''];
      const worker = new PlatformProcess('worker', process.execPath, program, { PATH: process.env.PATH ?? '' });
      await road.dispatcher.dispatch();
      for (const { kind, id } of records) {
        await eventually(`it works on ${kind.table}`, async () => worker.output.includes(id), LONG_MS);
      }
      await worker.stop('SIGKILL');
      await road.worker();
      await Promise.all(records.map(({ kind, id }) => road.untilEnded(kind, id)));
    });
  });
}
