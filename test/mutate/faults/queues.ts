// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const LEASES = 'shared/engine/leases.ts';
const DUE = 'shared/engine/due-records.ts';
const TRANSITION = 'shared/engine/transition.ts';
const ADMISSION = 'shared/deployments/deployment-admission.ts';
const OPERATIONS = 'shared/operations/kind.ts';

export const QUEUES_FAULTS: readonly Fault[] = [
  { name: 'lease: the fence is not raised', file: LEASES, find: 'fence = fence + 1', replace: 'fence = fence' },
  { name: 'lease: renewal ignores the fence', file: LEASES, find: ' and r.fence = held.fence', replace: '' },
  { name: 'lease: renewal revives what has ended', file: LEASES, find: ' and r.finished_at is null', replace: '' },
  {
    name: 'lease: a cancellation is not reported',
    file: LEASES,
    find: "lease?.cancellable ? 'r.cancel_requested_at is not null' : 'false'",
    replace: "lease?.cancellable ? 'false' : 'false'",
  },
  {
    name: 'due: handed over in reverse',
    file: DUE,
    find: 'from taken order by due_at, id',
    replace: 'from taken order by due_at desc, id',
  },
  {
    name: 'due: handed over before its time',
    file: DUE,
    find: 'where ${isDue(kind)} order',
    replace: 'where due_at is not null order',
  },
  {
    name: 'due: stays due after its job was made',
    file: DUE,
    find: 'r set due_at = null from',
    replace: 'r set due_at = r.due_at from',
  },
  {
    name: 'due: two processes make two jobs',
    file: DUE,
    find: 'and dispatches = :dispatches and due_at is null',
    replace: 'and cast(:dispatches as int) >= 0',
  },
  {
    name: 'abandoned: the lease is ignored',
    file: DUE,
    find: "lease === null ? [] : ['(lease_expires_at",
    replace: "true ? [] : ['(lease_expires_at",
  },
  {
    name: 'admission: two of one service at once',
    file: ADMISSION,
    find: ' and d.service_id <> all (l.services)',
    replace: '',
  },
  {
    name: 'admission: more than the workers have slots',
    file: ADMISSION,
    find: ' where turn <= (select slots from free)',
    replace: '',
  },
  {
    name: 'admission: more than buildConcurrency',
    file: ADMISSION,
    find: 'where position <= most',
    replace: '',
  },
  {
    name: 'admission: the newest first',
    file: ADMISSION,
    find: 'order by d.service_id, d.number\n',
    replace: 'order by d.service_id, d.number desc\n',
  },
  {
    name: 'admission: a cancelled one is let in',
    file: ADMISSION,
    find: ' and d.cancel_requested_at is null',
    replace: '',
  },
  {
    name: 'admission: workspaces do not take turns',
    file: ADMISSION,
    find: 'position, last_turn nulls first, ',
    replace: 'position, ',
  },
  {
    name: 'sweeps: run without leadership',
    file: 'workers/sweeps/sweeps.ts',
    find: "return scope === 'host' || leading;",
    replace: 'return true;',
  },
  {
    name: 'lease: lasts for an hour',
    file: LEASES,
    find: 'LEASE_SECONDS = 10',
    replace: 'LEASE_SECONDS = 3600',
  },
  {
    name: 'lease: is over at once',
    file: LEASES,
    find: 'LEASE_SECONDS = 10',
    replace: 'LEASE_SECONDS = 0',
  },
  {
    name: 'lease: those of operations are not renewed',
    file: 'workers/engine/lease-keeper.ts',
    find: 'new Set(entries.map((entry) => entry.kind))',
    replace: "new Set(entries.map((entry) => entry.kind).filter(({ table }) => table !== 'operations'))",
  },
  {
    name: 'lease: a lost one is not noticed',
    file: 'workers/engine/lease-keeper.ts',
    find: 'if (!hold)',
    replace: 'if (false)',
  },
  {
    name: 'lease: a cancellation is not passed on',
    file: 'workers/engine/lease-keeper.ts',
    find: 'else if (hold.cancelRequested)',
    replace: 'else if (false)',
  },
  {
    name: 'lease: it is renewed after its work has ended',
    file: 'workers/engine/lease-keeper.ts',
    find: 'this.#entries.delete(lease.id)',
    replace: 'this.#entries.has(lease.id)',
  },
  {
    name: 'lease: an older hold ends the newer one',
    file: 'workers/engine/lease-keeper.ts',
    find: 'if (this.#entries.get(lease.id) === entry)',
    replace: 'if (true)',
  },
  {
    name: 'due: a process waits for what another one hands over',
    file: DUE,
    find: 'for update skip locked',
    replace: 'for update',
  },
  {
    name: 'abandoned: what was touched a moment ago is taken up',
    file: DUE,
    find: '${abandoned.touched} < now()',
    replace: '${abandoned.touched} <= now() or true or now() < now()',
  },
  {
    name: 'abandoned: a deployment that was not admitted',
    file: DUE,
    find: "(waiting === undefined ? [] : ['admitted_at is not null'])",
    replace: '[]',
  },
  {
    name: 'abandoned: an operation that has ended',
    file: DUE,
    find: 'abandoned.open,',
    replace: "'true',",
  },
  {
    name: 'admission: ended deployments take places',
    file: ADMISSION,
    find: 'where a.workspace_id = chosen.id and a.finished_at is null and ',
    replace: 'where a.workspace_id = chosen.id and ',
  },
  {
    name: 'admission: workers that are silent have slots',
    file: ADMISSION,
    find: "from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')\n  - ",
    replace: 'from workers)\n  - ',
  },
  {
    name: 'admission: the places of running deployments are given again',
    file: ADMISSION,
    find: "- (select count(*) from deployments where finished_at is null and admitted_at is not null and status <> 'switched')`;",
    replace: '- 0`;',
  },
  {
    name: 'admission: running deployments do not count for buildConcurrency',
    file: ADMISSION,
    find: 'cardinality(l.services) + row_number()',
    replace: 'row_number()',
  },
  {
    name: 'admission: no job is due',
    file: ADMISSION,
    find: "dispatches = 1, due_at = now() + interval '${HANDOVER_SECONDS} seconds', ",
    replace: 'dispatches = 1, ',
  },
  {
    name: 'admission: the reason of a wait stays',
    file: ADMISSION,
    find: 'where reason <> d.blocked_reason',
    replace: 'where false',
  },
  {
    name: 'dispatch: records that are left after a batch wait',
    file: 'shared/queues/dispatcher.ts',
    find: 'while ((await this.#handOver(kind)) === BATCH)',
    replace: 'await this.#handOver(kind)',
  },
  {
    name: 'dispatch: a record with a job gets another one',
    file: 'shared/queues/dispatcher.ts',
    find: 'if (await this.#hasJob(record))',
    replace: 'if (false)',
  },
  {
    name: 'operation: claimed after its end',
    file: TRANSITION,
    find: 'where id = :id and finished_at is null ${admitted}',
    replace: 'where id = :id ${admitted}',
  },
  {
    name: 'operation: running after it was given back',
    file: OPERATIONS,
    find: "released: 'queued'",
    replace: "released: 'running'",
  },
  {
    name: 'operation: a fault of the platform fails it at once',
    file: 'workers/engine/decide-action.ts',
    find: 'if (!lastAttempt)',
    replace: 'if (false)',
  },
  {
    name: "sweeps: a host's sweep runs on the leader only",
    file: 'workers/sweeps/sweeps.ts',
    find: "return scope === 'host' || leading;",
    replace: 'return leading;',
  },
  {
    name: 'sweeps: one that fails takes the worker down',
    file: 'workers/sweeps/sweeps.ts',
    find: 'log.warn({ sweep: name },',
    replace: 'throw error; log.warn({ sweep: name },',
  },
  {
    name: 'sweeps: retention of sessions is left out',
    file: 'workers/sweeps/sweep-definitions.ts',
    find: 'await deleteExpiredSessions(db)',
    replace: '0',
  },
  {
    name: 'sweeps: stale releases run on',
    file: 'workers/sweeps/sweep-definitions.ts',
    find: 'await retireOldReleases(deps, id, new AbortController().signal);',
    replace: '',
  },
];
