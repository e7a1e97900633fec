// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const TRANSITION = 'shared/engine/transition.ts';
const REQUESTS = 'shared/engine/cancel-requests.ts';
const KIND = 'shared/deployments/kind.ts';
const CHANGES = 'workers/deploy/deployment-changes.ts';
const PERFORM = 'workers/deploy/perform-deployment.ts';
const MODEL = 'shared/deployments/model.ts';
const STORE = 'shared/deployments/store.ts';
const RELEASES = 'workers/releases/release-store.ts';

export const DEPLOYMENTS_FAULTS: readonly Fault[] = [
  {
    name: 'transition: the fence is not compared',
    file: TRANSITION,
    find: 'where id = :id and fence = :fence and worker_id',
    replace: 'where id = :id and :fence > 0 and worker_id',
  },
  {
    name: 'transition: the state is not compared',
    file: TRANSITION,
    find: 'and ${possible}\n          ${waits',
    replace: '${waits',
  },
  {
    name: 'transition: a requested cancellation does not hold the next state back',
    file: TRANSITION,
    find: "${waits ? 'and cancel_requested_at is null' : ''}",
    replace: '',
  },
  {
    name: 'transition: failing ignores a requested cancellation',
    file: TRANSITION,
    find: "case when cancel_requested_at is null then '${to}' else '${cancelled}' end",
    replace: "'${to}'",
  },
  {
    name: 'transition: the route moves for a service that is being deleted',
    file: CHANGES,
    find: "and lifecycle_status not in ('deleting', 'deleted')\n       for update",
    replace: '\n       for update',
  },
  {
    name: 'transition: an end is not noted',
    file: KIND,
    find: 'where finished_at is not null on',
    replace: 'where false on',
  },
  {
    name: 'transition: takeovers are never reset',
    file: KIND,
    find: 'takeovers = 0, worker_faults',
    replace: 'worker_faults',
  },
  {
    name: 'model: a switched release can be cancelled',
    file: MODEL,
    find: "switched: { edgesConfirmed: 'live' }",
    replace: "switched: { edgesConfirmed: 'live', cancelled: 'cancelled' }",
  },
  {
    name: 'model: a switched release shows as live',
    file: MODEL,
    find: "? 'releasing' : state",
    replace: "? 'live' : state",
  },
  {
    name: 'claim: a deployment that was not admitted',
    file: TRANSITION,
    find: "kind.waiting === undefined ? '' : 'and admitted_at is not null'",
    replace: "''",
  },
  {
    name: 'claim: no takeover is counted',
    file: KIND,
    find: 'case when worker_id is null then 0 else 1 end',
    replace: '0',
  },
  {
    name: 'cancel: ends a deployment that a worker holds',
    file: REQUESTS,
    find: "kind.waiting === undefined ? 'fence = 0' : '(fence = 0 or admitted_at is null)'",
    replace: "'true'",
  },
  {
    name: 'cancel: asks for one that visitors see already',
    file: REQUESTS,
    find: '${openAnd(match)} and ${possible}\n        returning',
    replace: '${openAnd(match)}\n        returning',
  },
  {
    name: 'release: one that is being deployed counts as stale',
    file: RELEASES,
    find: '\n        and d.finished_at is not null',
    replace: '',
  },
  {
    name: 'release: the live one counts as stale',
    file: RELEASES,
    find: 'and s.live_deployment_id is distinct from r.deployment_id',
    replace: '',
  },
  {
    name: 'release: started beside an operation',
    file: RELEASES,
    find: 'and not exists (select 1 from operations o where o.service_id = s.id and o.finished_at is null)',
    replace: '',
  },
  {
    name: 'release: a suspended service is started',
    file: RELEASES,
    find: "s.lifecycle_status = 'active' and ",
    replace: '',
  },
  {
    name: 'decide: a deployment that visitors see fails',
    file: 'workers/engine/decide-action.ts',
    find: "if (!('failed' in state))",
    replace: 'if (false)',
  },
  {
    name: 'decide: the first fault of the platform ends a deployment',
    file: 'workers/engine/decide-action.ts',
    find: 'if (!lastAttempt)',
    replace: 'if (false)',
  },
  {
    name: "claim: a worker's fault is not counted",
    file: PERFORM,
    find: 'worker_faults = worker_faults + 1',
    replace: 'worker_faults = worker_faults',
  },
  {
    name: 'claim: the start moves with each takeover',
    file: KIND,
    find: 'started_at = coalesce(started_at, now())',
    replace: 'started_at = now()',
  },
  {
    name: 'cancel: deployments of other services too',
    file: REQUESTS,
    find: '`${column} = :${column}`',
    replace: '`:${column} is not null`',
  },
  {
    name: 'cancel: a job is made for one that has ended',
    file: REQUESTS,
    find: "due_at: 'null', ",
    replace: '',
  },
  {
    name: 'cancel: the steps of one that ends go on',
    file: KIND,
    find: ', steps: endedSteps()',
    replace: '',
  },
  {
    name: 'rollback: to an image that was removed',
    file: STORE,
    find: 'i.id is not null and i.removed_at is null',
    replace: 'i.id is not null',
  },
  {
    name: 'rollback: of an archived service',
    file: STORE,
    find: 'and not s.archived and',
    replace: 'and',
  },
  {
    name: 'rollback: to a release that never went live',
    file: STORE,
    find: "d.status = 'live' and i.id is not null",
    replace: 'i.id is not null',
  },
  {
    name: 'transition: the first moment at which visitors saw it is not kept',
    file: CHANGES,
    find: "sql: 'went_live_at = now()', ",
    replace: '',
  },
  {
    name: 'transition: the edges do not learn of a switch',
    file: CHANGES,
    find: "route_version = nextval('route_versions'), updated_at",
    replace: 'updated_at',
  },
  {
    name: 'transition: a running step keeps no end',
    file: 'shared/deployments/step-records.ts',
    find: "when step ->> 'finishedAt' is null",
    replace: 'when false',
  },
  {
    name: 'transition: a cancelled deployment keeps an error',
    file: TRANSITION,
    find: "case when cancel_requested_at is null then :error else '' end",
    replace: ':error',
  },
  {
    name: 'decide: a worker that lost its lease hands the deployment over',
    file: 'workers/engine/decide-action.ts',
    find: "return { type: 'leave' };",
    replace: "return { type: 'handOver' };",
  },
  {
    name: 'decide: a fault of the platform never ends a deployment',
    file: 'workers/engine/decide-action.ts',
    find: 'if (!lastAttempt)',
    replace: 'if (true)',
  },
  {
    name: 'deployment: a step gets a third worker after two that crashed',
    file: PERFORM,
    find: 'MAX_FAULTS = 2',
    replace: 'MAX_FAULTS = 3',
  },
  {
    name: 'deployment: a step is taken over without end',
    file: PERFORM,
    find: 'takeovers > MAX_TAKEOVERS',
    replace: 'takeovers < 0',
  },
  {
    name: 'deployment: the end is seen before the release has stopped',
    file: PERFORM,
    find: 'await this.#deps.runtime.stop(work.record.id);',
    replace: '',
  },
  {
    name: 'deployment: an error shows secrets',
    file: PERFORM,
    find: 'this.#masker?.mask(text) ?? text',
    replace: 'text',
  },
  {
    name: 'deployment: a deployment that is handed over stays held',
    file: 'workers/engine/perform-record.ts',
    find: "await transition(db, kind, record, 'released');",
    replace: '',
  },
  {
    name: 'retire: the old release stops before the edges serve the new one',
    file: 'workers/deploy/retire-releases.ts',
    find: 'await edgesApplied(deps.db, serviceId, service.route_version, signal);',
    replace: '',
  },
];
