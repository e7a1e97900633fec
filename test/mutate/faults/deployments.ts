// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const TRANSITIONS = 'shared/deployments/transitions.ts';
const MODEL = 'shared/deployments/model.ts';
const STORE = 'shared/deployments/store.ts';
const PARTS = 'shared/deployments/parts-store.ts';
const RELEASES = 'shared/deployments/release-store.ts';

export const DEPLOYMENTS_FAULTS: readonly Fault[] = [
  {
    name: 'transition: the fence is not compared',
    file: TRANSITIONS,
    find: 'where id = $1 and fence = $2 and status',
    replace: 'where id = $1 and $2 > 0 and status',
  },
  {
    name: 'transition: the state is not compared',
    file: TRANSITIONS,
    find: "and fence = $2 and status = '${from}' and finished_at is null",
    replace: 'and fence = $2 and finished_at is null',
  },
  {
    name: 'transition: a requested cancellation does not hold the next state back',
    file: TRANSITIONS,
    find: "'and cancel_requested_at is null'",
    replace: "''",
  },
  {
    name: 'transition: failing ignores a requested cancellation',
    file: TRANSITIONS,
    find: "status = case when cancel_requested_at is null then '${to}' else '${toIfCancelled}' end",
    replace: "status = '${to}'",
  },
  {
    name: 'transition: the route moves for a service that is being deleted',
    file: TRANSITIONS,
    find: "and lifecycle_status not in ('deleting', 'deleted')\n     for update",
    replace: '\n     for update',
  },
  {
    name: 'transition: an end is not noted',
    file: TRANSITIONS,
    find: 'where finished_at is not null on',
    replace: 'where false on',
  },
  { name: 'transition: takeovers are never reset', file: TRANSITIONS, find: 'takeovers = 0, ', replace: '' },
  {
    name: 'model: cancelled does not win',
    file: MODEL,
    find: 'return cancelRequested && events.cancelled',
    replace: 'return false && events.cancelled',
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
  { name: 'claim: a deployment that was not admitted', file: PARTS, find: 'and admitted_at is not null', replace: '' },
  {
    name: 'claim: no takeover is counted',
    file: PARTS,
    find: 'case when worker_id is null then 0 else 1 end',
    replace: '0',
  },
  {
    name: 'cancel: ends a deployment that a worker holds',
    file: STORE,
    find: "case when fence = 0 then 'cancelled' else status end",
    replace: "'cancelled'",
  },
  {
    name: 'cancel: asks for one that visitors see already',
    file: STORE,
    find: 'and finished_at is null and status = any(cast($3 as text[]))',
    replace: 'and finished_at is null',
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
    file: 'workers/engine/decide.ts',
    find: "if (!('failed' in state))",
    replace: 'if (false)',
  },
  {
    name: 'decide: the first fault of the platform ends a deployment',
    file: 'workers/engine/decide.ts',
    find: 'if (!lastAttempt)',
    replace: 'if (false)',
  },
  {
    name: 'claim: a deployment that has ended',
    file: PARTS,
    find: 'where id = $1 and finished_at is null and admitted_at is not null',
    replace: 'where id = $1 and admitted_at is not null',
  },
  {
    name: "claim: a worker's fault is not counted",
    file: PARTS,
    find: 'case when $3 then 1 else 0 end',
    replace: 'case when $3 then 0 else 0 end',
  },
  {
    name: 'claim: the start moves with each takeover',
    file: PARTS,
    find: 'started_at = coalesce(started_at, now())',
    replace: 'started_at = now()',
  },
  {
    name: 'cancel: deployments of other services too',
    file: STORE,
    find: 'where service_id = $1 and (cast(',
    replace: 'where cast($1 as uuid) is not null and (cast(',
  },
  {
    name: 'cancel: a job is made for one that has ended',
    file: STORE,
    find: 'due_at = case when fence = 0 then null else due_at end',
    replace: 'due_at = due_at',
  },
  {
    name: 'cancel: the steps of one that ends go on',
    file: STORE,
    find: 'steps = case when fence = 0 then ${endedSteps()} else steps end',
    replace: 'steps = steps',
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
    file: TRANSITIONS,
    find: ', went_live_at = now()',
    replace: '',
  },
  {
    name: 'transition: the edges do not learn of a switch',
    file: TRANSITIONS,
    find: "route_version = nextval('route_versions'), updated_at",
    replace: 'updated_at',
  },
  {
    name: 'transition: a running step keeps no end',
    file: TRANSITIONS,
    find: "when step ->> 'finishedAt' is null",
    replace: 'when false',
  },
  {
    name: 'transition: a cancelled deployment keeps an error',
    file: TRANSITIONS,
    find: "case when cancel_requested_at is null then $3 else '' end",
    replace: '$3',
  },
  {
    name: 'decide: a worker that lost its lease hands the deployment over',
    file: 'workers/engine/decide.ts',
    find: "return { type: 'leave' };",
    replace: "return { type: 'handOver' };",
  },
  {
    name: 'decide: a fault of the platform never ends a deployment',
    file: 'workers/engine/decide.ts',
    find: 'if (!lastAttempt)',
    replace: 'if (true)',
  },
  {
    name: 'driver: a step gets a third worker after two that crashed',
    file: 'workers/deploy/driver.ts',
    find: 'MAX_FAULTS = 2',
    replace: 'MAX_FAULTS = 3',
  },
  {
    name: 'driver: a step is taken over without end',
    file: 'workers/deploy/driver.ts',
    find: 'takeovers > MAX_TAKEOVERS',
    replace: 'takeovers < 0',
  },
  {
    name: 'driver: the end is seen before the release has stopped',
    file: 'workers/deploy/driver.ts',
    find: 'await run.deps.runtime.stop(run.lease.id);',
    replace: '',
  },
  {
    name: 'driver: an error shows secrets',
    file: 'workers/deploy/driver.ts',
    find: 'const shown = run.channel.mask(error);',
    replace: 'const shown = error;',
  },
  {
    name: 'driver: a deployment that is handed over stays held',
    file: 'workers/deploy/driver.ts',
    find: 'await releaseLease(deps.db, DEPLOYMENTS, lease);',
    replace: '',
  },
  {
    name: 'retire: the old release stops before the edges serve the new one',
    file: 'workers/deploy/retire-releases.ts',
    find: 'await edgesApplied(deps.db, serviceId, service.route_version, signal);',
    replace: '',
  },
];
