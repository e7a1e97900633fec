import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { BACKUPS } from '../../../../shared/backups/kind.js';
import { DEPLOYMENTS } from '../../../../shared/deployments/kind.js';
import { findAbandoned, takeDue } from '../../../../shared/engine/due-records.js';
import type { WorkKind } from '../../../../shared/engine/kind.js';
import { claim, statesOf, transition } from '../../../../shared/engine/transition.js';
import { OPERATIONS } from '../../../../shared/operations/kind.js';
import { KINDS } from '../../../../shared/queues/work-catalog.js';
import { RUNS } from '../../../../shared/runs/kind.js';
import { STACK_APPLIES } from '../../../../shared/stacks/kind.js';
import { type Handler, type Outcome, perform, type Work } from '../../../../workers/engine/perform-record.js';
import { ReleaseError } from '../../../../workers/failures/explained-errors.js';
import { Interrupted, JobFailed } from '../../../../workers/failures/interruption-errors.js';
import type { JobDeps } from '../../../../workers/worker-deps.js';
import { makeWorkspace } from '../../../support/factories.js';
import { done, ROAD, type Row, recordMaker, SAMPLE, SAMPLE_TABLE } from '../../../support/work-records.js';
import { jobHelpers, type TestWorkshop, untilAborted, useTestWorkshop } from '../../../support/workshop.js';

class Bench {
  readonly kind: WorkKind;
  readonly workshop: TestWorkshop;
  readonly worker: JobDeps;
  readonly id: string;
  readonly workspaceId: string;

  constructor(init: Pick<Bench, 'kind' | 'workshop' | 'worker' | 'id' | 'workspaceId'>) {
    ({
      kind: this.kind,
      workshop: this.workshop,
      worker: this.worker,
      id: this.id,
      workspaceId: this.workspaceId,
    } = init);
  }

  get db() {
    return this.workshop.database.db;
  }

  run(
    work: (work: Work<Row>) => Promise<Outcome>,
    {
      worker = this.worker,
      id = this.id,
      signal = new AbortController().signal,
      lastAttempt = false,
      ...hooks
    }: Job = {},
  ): Promise<unknown> {
    const handler: Handler<Row> = { kind: this.kind, run: work, ...hooks };
    return perform(worker, handler, id, jobHelpers({ signal, lastAttempt })).catch((error: unknown) => error);
  }

  claim(): Promise<Row | null> {
    return claim<Row>(this.db, this.kind, this.id, uuidv7());
  }

  async read(id = this.id): Promise<Row> {
    return this.db<Row>(this.kind.table).where({ id }).first() as Promise<Row>;
  }

  update(changes: object): Promise<unknown> {
    return this.db(this.kind.table).where({ id: this.id }).update(changes);
  }

  /** The status of a record while its work runs. The getter below is the status after it. */
  get working(): string {
    return statesOf(this.kind).queued?.claimed ?? 'queued';
  }

  get succeeded(): string {
    return this.working === 'queued' ? 'live' : 'succeeded';
  }

  /** An event that keeps the status while work runs. The getter below is an event that ends the work. */
  get step(): string {
    const steps = Object.keys(statesOf(this.kind)[this.working] ?? {});
    return ROAD[this.working] ?? steps.find((event) => event === 'stepped') ?? 'retried';
  }

  get end(): string {
    return this.working === 'queued' ? 'failed' : 'succeeded';
  }

  requestCancel = () => this.update({ cancel_requested_at: this.db.fn.now() });
  states = () => statesOf(this.kind);
  /** Returns the status of a record after the worker handed it back with an event. */
  after = (event: string) => this.states()[this.working]?.[event] ?? this.working;
}

interface Job extends Partial<Pick<Handler<Row>, 'beforeEnd' | 'afterEnd' | 'failsJob' | 'describe'>> {
  worker?: JobDeps;
  id?: string;
  signal?: AbortSignal;
  lastAttempt?: boolean;
}

const fault = () => Promise.reject(new Error('the registry is away'));
const explained = () => Promise.reject(new ReleaseError('the image is gone'));
const UNHELD = { worker_id: null, lease_expires_at: null };

type Cases = Record<string, (bench: Bench) => Promise<unknown>>;

/** Guarantees of the engine for each kind of work. A test's title is "a record of <kind>" and the case's title. */
const CASES: Cases = {
  'is done once: its second job finds nothing to do': async (b) => {
    expect(await b.run(done)).to.equal(b.succeeded);
    expect(await b.read()).to.include({ status: b.succeeded, ...UNHELD });
    expect(await b.run(fault)).to.equal('nothing to do');
  },
  'keeps its lease from state to state, and a killed worker is followed by the next one in each': async (b) => {
    const fences: number[] = [];
    const killed = new Set<string>();
    for (let outcome: unknown = null; outcome !== b.succeeded; ) {
      outcome = await b.run(
        async (work) => {
          fences.push(work.record.fence);
          const { status } = work.record;
          if (killed.has(status)) return done(work);
          killed.add(status);
          // A killed worker records nothing. The claim of another worker takes its lease.
          await b.claim();
          throw new Error('killed');
        },
        { worker: await b.workshop.deafWorker() },
      );
    }
    expect(killed.size).to.equal(b.working === 'queued' ? 3 : 1);
    expect(fences).to.deep.equal([...fences].sort((one, other) => one - other));
    expect((await b.read()).status).to.equal(b.succeeded);
  },
  'that does not exist is nothing to do': async (b) =>
    expect(await b.run(done, { id: uuidv7() })).to.equal('nothing to do'),
  'whose worker was killed after the claim is done by the next one': async (b) => {
    const dead = await b.claim();
    expect(await b.run(done)).to.equal(b.succeeded);
    expect((await b.read()).fence).to.equal((dead?.fence ?? 0) + 1);
  },
  'whose worker was killed before it recorded the end is done again, and the dead worker changes nothing': async (
    b,
  ) => {
    const dead = (await b.claim()) as Row;
    await b.claim();
    for (const event of [b.end, 'failed', 'released', 'handedBack']) {
      expect(await transition(b.db, b.kind, dead, event), event).to.equal(null);
    }
    expect((await b.read()).finished_at).to.equal(null);
    expect(await b.run(done)).to.equal(b.succeeded);
  },
  'that was not claimed cannot end': async (b) => {
    const { id, fence } = await b.read();
    for (const event of [b.end, 'failed']) {
      expect(await transition(b.db, b.kind, { id, fence }, event), event).to.equal(null);
    }
  },
  'that ended is not changed again': async (b) => {
    const held = (await b.claim()) as Row;
    expect(await transition(b.db, b.kind, held, b.end)).to.include({ status: b.end });
    expect(await transition(b.db, b.kind, held, 'failed')).to.equal(null);
    expect((await b.read()).status).to.equal(b.end);
  },
  'whose lease is lost while it is worked on stops, and is left alone': async (b) => {
    let other: Row | null = null;
    const outcome = b.run(async (work) => {
      other = await b.claim();
      await b.db.raw('select pg_notify(?, ?)', ['ranvier_cancel', b.id]);
      await untilAborted(() => undefined)(work.signal);
      return done(work);
    });
    expect(await outcome).to.equal('superseded');
    expect(await b.read()).to.include({ finished_at: null, fence: (other as Row | null)?.fence });
  },
  'whose lease was lost unnoticed is not ended': async (b) => {
    const worker = await b.workshop.deafWorker();
    const work = async (held: Work<Row>) => ((await b.claim()) ? done(held) : fault());
    expect(await b.run(work, { worker })).to.equal('superseded');
    expect((await b.read()).finished_at).to.equal(null);
  },
  'whose lease was lost unnoticed is not handed back': async (b) => {
    const worker = await b.workshop.deafWorker();
    let other: Row | null = null;
    const work = async () => {
      other = await b.claim();
      return fault();
    };
    expect(await b.run(work, { worker })).to.be.instanceOf(Error);
    expect(await b.read()).to.include({ worker_id: (other as Row | null)?.worker_id, status: b.working });
  },
  'whose lease was lost unnoticed does not fail': async (b) => {
    const worker = await b.workshop.deafWorker();
    const work = async (held: Work<Row>) => ((await b.claim()) ? explained() : done(held));
    expect(await b.run(work, { worker, failsJob: true })).to.equal('superseded');
    expect((await b.read()).finished_at).to.equal(null);
  },
  'is handed back after a fault of the platform, and the next try does it': async (b) => {
    expect(await b.run(fault)).to.include({ message: 'the registry is away' });
    expect(await b.read()).to.include({ status: b.after('handedBack'), finished_at: null, ...UNHELD });
    expect(await b.run(done)).to.equal(b.succeeded);
  },
  'fails with the last try of a fault of the platform': async (b) => {
    expect(await b.run(fault, { lastAttempt: true })).to.equal('failed');
    expect(await b.read()).to.include({ status: 'failed', error: 'internal error: the registry is away', ...UNHELD });
  },
  'fails at once with a cause that a person can act on, and its job with it if the kind wants that': async (b) => {
    expect(await b.run(explained, { failsJob: true, describe: (_, cause) => `step: ${cause}` }))
      .to.be.instanceOf(JobFailed)
      .and.include({ message: 'step: the image is gone' });
    expect(await b.read()).to.include({ status: 'failed', error: 'step: the image is gone' });
  },
  'shows its failure after what it started has stopped, and tells of it afterwards': async (b) => {
    const seen: unknown[] = [];
    const look = async () => void seen.push((await b.read()).status);
    await b.run(explained, { beforeEnd: look, afterEnd: look });
    expect(seen).to.deep.equal([b.working, 'failed']);
  },
  'stays open if what it started cannot be stopped': async (b) => {
    expect(await b.run(explained, { beforeEnd: fault })).to.be.instanceOf(Error);
    expect((await b.read()).finished_at).to.equal(null);
  },
  'is handed over by a worker that shuts down in the work': async (b) => {
    const shutdown = new AbortController();
    const work = async ({ signal }: Work<Row>): Promise<Outcome> => {
      shutdown.abort(new Interrupted('shutdown'));
      throw signal.reason;
    };
    expect(await b.run(work, { signal: shutdown.signal }))
      .to.be.instanceOf(Interrupted)
      .and.include({ why: 'shutdown' });
    expect(await b.read()).to.include({ status: b.after('released'), finished_at: null, ...UNHELD });
    expect(await b.run(done)).to.equal(b.succeeded);
  },
  'whose work fails because its worker shuts down has not failed': async (b) => {
    const shutdown = AbortSignal.abort(new Interrupted('shutdown'));
    expect(await b.run(explained, { signal: shutdown, lastAttempt: true })).to.be.instanceOf(Interrupted);
    expect((await b.read()).finished_at).to.equal(null);
  },
  'that is put off is unheld and due later, by one further job': async (b) => {
    await b.update({ due_at: null, dispatches: 1 });
    expect(await b.run(async () => ({ laterInMs: 60_000, says: 'elsewhere' }))).to.equal('elsewhere');
    expect(await b.read()).to.include({ status: b.after('released'), dispatches: 2, ...UNHELD });
    expect((await b.read()).due_at?.getTime()).to.be.greaterThan(Date.now() + 30_000);
    const taken = await b.db.transaction((trx) => takeDue(trx, b.kind, 1000));
    expect(taken.map(({ id }) => id)).to.not.include(b.id);
  },
  'that two workers claim at once is ended once': async (b) => {
    const outcomes = await Promise.all([b.run(done), b.run(done), b.run(done)]);
    expect(outcomes.filter((outcome) => outcome === b.succeeded)).to.have.length(1);
    expect((await b.read()).status).to.equal(b.succeeded);
  },
  'does not wait for a dead worker of its workspace, nor for another workspace': async (b) => {
    const make = recordMaker(b.kind);
    const dead = await make(b.workshop, b.workspaceId);
    await claim(b.db, b.kind, dead, uuidv7());
    await b
      .db(b.kind.table)
      .where({ id: dead })
      .update({ lease_expires_at: new Date(0) });
    const stranger = await make(b.workshop, (await makeWorkspace(b.db)).id);
    await claim(b.db, b.kind, stranger, uuidv7());
    expect(await b.run(done)).to.equal(b.succeeded);
  },
  'whose job is lost is found when no worker holds it, and only then': async (b) => {
    const old = { due_at: null, updated_at: new Date(0) };
    const found = async () => (await findAbandoned(b.db, [b.kind], 5)).map(({ id }) => id);
    await b.update(old);
    expect(await found()).to.include(b.id);
    await b.claim();
    await b.update(old);
    expect(await found()).to.not.include(b.id);
    await b.update({ ...old, lease_expires_at: new Date(0) });
    expect(await found()).to.include(b.id);
    expect(await b.run(done)).to.equal(b.succeeded);
    await b.update(old);
    expect(await found()).to.not.include(b.id);
  },
};

/** Guarantees for kinds of which a workspace has one record in work at a time. */
const CASES_ALONE: Cases = {
  'waits while another one of its workspace is worked on, and keeps no slot': async (b) => {
    await b.update({ due_at: null });
    const other = await recordMaker(b.kind)(b.workshop, b.workspaceId);
    const held = (await claim<Row>(b.db, b.kind, other, uuidv7())) as Row;
    expect(await b.run(done)).to.equal('waits for another one of its workspace');
    expect(await b.read()).to.include({ status: 'queued', dispatches: 2, worker_id: null });
    await transition(b.db, b.kind, held, b.end);
    expect(await b.run(done)).to.equal(b.succeeded);
  },
  'of one workspace and another one are not both claimed at once': async (b) => {
    const other = await recordMaker(b.kind)(b.workshop, b.workspaceId);
    const claims = await Promise.all([b.id, other].map((id) => claim(b.db, b.kind, id, uuidv7())));
    expect(claims.filter((row) => row !== null)).to.have.length(1);
  },
};

const CASES_CANCELLABLE: Cases = {
  'that was cancelled before its claim is not worked on': async (b) => {
    await b.requestCancel();
    expect(await b.run(fault)).to.equal('cancelled');
  },
  'that is cancelled in the work stops first and then shows it': async (b) => {
    const stopped: string[] = [];
    const outcome = b.run(
      async (work) => {
        await b.requestCancel();
        await b.db.raw('select pg_notify(?, ?)', ['ranvier_cancel', b.id]);
        await untilAborted(() => undefined)(work.signal);
        return done(work);
      },
      { beforeEnd: async () => void stopped.push((await b.read()).status) },
    );
    expect(await outcome).to.equal('cancelled');
    expect(stopped).to.deep.equal([b.working]);
  },
  'that is cancelled before its end is recorded is cancelled': async (b) => {
    const worker = await b.workshop.deafWorker();
    expect(await b.run(async (held) => ((await b.requestCancel()) ? done(held) : fault()), { worker })).to.equal(
      'cancelled',
    );
  },
  'that is cancelled while it fails is cancelled and has no failed job': async (b) => {
    const worker = await b.workshop.deafWorker();
    const work = async (held: Work<Row>) => ((await b.requestCancel()) ? explained() : done(held));
    expect(await b.run(work, { worker, failsJob: true })).to.equal('cancelled');
  },
  'that is cancelled before a step is recorded does not go on': async (b) => {
    const worker = await b.workshop.deafWorker();
    const work = async (held: Work<Row>) => ((await b.requestCancel()) ? { event: b.step } : done(held));
    expect(await b.run(work, { worker })).to.equal('cancelled');
  },
  'that has ended cannot be cancelled': async (b) => {
    await b.run(done);
    await b.requestCancel();
    expect(await b.run(fault)).to.equal('nothing to do');
    expect((await b.read()).status).to.equal(b.succeeded);
  },
};

describe('The engine', () => {
  let workshop: TestWorkshop;
  let worker: JobDeps;
  useTestWorkshop(async (opened) => {
    ({ workshop, worker } = opened);
    await opened.db.raw(SAMPLE_TABLE);
  });

  const registered = KINDS.filter((kind: WorkKind) => kind.lease !== null);

  it('is tested with every kind that it performs', () => {
    expect(registered).to.deep.equal([DEPLOYMENTS, OPERATIONS, RUNS, BACKUPS, STACK_APPLIES]);
  });

  for (const kind of [...registered, SAMPLE] as WorkKind[]) {
    describe(`a record of ${kind.table}`, () => {
      const alone = kind.lease?.aloneInWorkspace ? CASES_ALONE : {};
      const cancellable = kind.lease?.cancellable ? CASES_CANCELLABLE : {};
      const cases: Cases = { ...CASES, ...alone, ...cancellable };
      for (const [title, check] of Object.entries(cases)) {
        it(title, async () => {
          const { id: workspaceId } = await makeWorkspace(workshop.database.db);
          const id = await recordMaker(kind)(workshop, workspaceId);
          await check(new Bench({ kind, workshop, worker, id, workspaceId }));
        });
      }

      it('has a table of states that lists each state that is reached, and ends', () => {
        const states = statesOf(kind);
        const reached = new Set(['queued', ...Object.values(states).flatMap((row) => Object.values(row))]);
        expect(Object.keys(states)).to.include.members([...reached]);
        expect(Object.values(states).filter((row) => Object.keys(row).length === 0)).to.not.deep.equal([]);
      });
    });
  }
});
