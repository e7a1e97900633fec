// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
/** One small change of the code that a test should notice. `find` stands in the compiled file. */
export interface Fault {
  name: string;
  /** The source, from the root. */
  file: string;
  find: string;
  replace: string;
  /** How often `find` stands in the file: all of these are replaced. 1 if left out. */
  places?: number;
}

const TRANSITIONS = 'shared/deployments/transitions.ts';
const MODEL = 'shared/deployments/model.ts';
const STORE = 'shared/deployments/store.ts';
const LEASES = 'shared/core/database/leases.ts';
const DUE = 'shared/queues/due.ts';
const ADMISSION = 'shared/deployments/admission.ts';
const OPERATIONS = 'shared/operations/store.ts';
const RELEASES = 'shared/deployments/release-store.ts';
const SNAPSHOTS = 'shared/variables/snapshot-store.ts';
const IMAGES = 'shared/images/store.ts';
const REPLICAS = 'shared/replicas/store.ts';
const ROUTING = 'shared/routing/store.ts';
const EDGE_TABLE = 'workers/edge/table.ts';
const SEALS = 'shared/secrets/sealed-columns.ts';
const ROTATE = 'shared/secrets/rotate.ts';
const RECEIPTS = 'shared/receipts/store.ts';
const SESSIONS = 'shared/identity/session-store.ts';
const POLICY = 'shared/identity/policy.ts';
const LIMITS = 'shared/workspaces/limits.ts';
const BILLING = 'shared/workspaces/billing.ts';
const VARIABLES = 'shared/variables/commands.ts';
const RESOLVE = 'shared/variables/resolve.ts';
const LOG_LINES = 'shared/logs/line-store.ts';
const INGEST = 'shared/logs/ingest.ts';
const CANVAS = 'shared/canvas/store.ts';
const SERVICES = 'shared/services/store.ts';

export const FAULTS: readonly Fault[] = [
  {
    name: 'transition: the fence is not compared',
    file: TRANSITIONS,
    find: 'where id = :id and fence = :fence and status = :from',
    replace: 'where id = :id and status = :from',
  },
  {
    name: 'transition: the state is not compared',
    file: TRANSITIONS,
    find: 'and fence = :fence and status = :from and finished_at is null',
    replace: 'and fence = :fence and finished_at is null',
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
    find: 'status = case when cancel_requested_at is null then :to else :toIfCancelled end',
    replace: 'status = :to',
  },
  {
    name: 'transition: the route moves for a service that is being deleted',
    file: TRANSITIONS,
    find: "where id = :serviceId and lifecycle_status not in ('deleting', 'deleted')",
    replace: 'where id = :serviceId',
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
  { name: 'claim: a deployment that was not admitted', file: STORE, find: 'and admitted_at is not null', replace: '' },
  {
    name: 'claim: no takeover is counted',
    file: STORE,
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
    find: 'and finished_at is null and status = any(:cancellable)',
    replace: 'and finished_at is null',
  },
  { name: 'lease: the fence is not raised', file: LEASES, find: 'fence = fence + 1', replace: 'fence = fence' },
  { name: 'lease: renewal ignores the fence', file: LEASES, find: ' and r.fence = held.fence', replace: '' },
  { name: 'lease: renewal revives what has ended', file: LEASES, find: ' and r.finished_at is null', replace: '' },
  {
    name: 'lease: a cancellation is not reported',
    file: LEASES,
    find: 'r.cancel_requested_at is not null',
    replace: 'false',
  },
  {
    name: 'lease: released with an old fence',
    file: LEASES,
    find: 'where id = :id and fence = :fence and finished_at is null`',
    replace: 'where id = :id and cast(:fence as bigint) is not null`',
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
    find: 'where due_at <= now() order',
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
    find: 'where finished_at is null and due_at is null and (lease_expires_at is null or lease_expires_at < now())',
    replace: 'where finished_at is null and due_at is null',
  },
  {
    name: 'abandoned: the lease of a deployment is ignored',
    file: DUE,
    find: 'and admitted_at is not null and due_at is null\n         and (lease_expires_at is null or lease_expires_at < now())',
    replace: 'and admitted_at is not null and due_at is null',
  },
  {
    name: 'admission: two of one service at once',
    file: ADMISSION,
    find: 'and not exists (select 1 from active a where a.service_id = d.service_id)',
    replace: '',
  },
  {
    name: 'admission: more than the workers have slots',
    file: ADMISSION,
    find: 'and a.turn <= (select free from slots)',
    replace: '',
  },
  {
    name: 'admission: more than buildConcurrency',
    file: ADMISSION,
    find: 'where r.position <= ',
    replace: 'where 0 <= ',
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
  { name: 'admission: workspaces do not take turns', file: ADMISSION, find: 't.last_turn nulls first, ', replace: '' },
  {
    name: 'operation: ended with an old fence',
    file: OPERATIONS,
    find: 'finished_at = now(), ${UNHELD}\n      where id = :id and fence = :fence',
    replace: 'finished_at = now(), ${UNHELD}\n      where id = :id',
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
    name: 'snapshot: erased before its deployment ends',
    file: SNAPSHOTS,
    find: 'd.finished_at is null\n',
    replace: 'false\n',
  },
  {
    name: 'snapshot: erased although it can be rolled back to',
    file: SNAPSHOTS,
    find: "(d.status = 'live' and i.id is not null and i.removed_at is null)",
    replace: 'false',
  },
  {
    name: 'snapshot: erased while a replica runs with it',
    file: SNAPSHOTS,
    find: "exists (select from replicas where deployment_id = d.id and state <> 'stopped')",
    replace: 'false',
  },
  {
    name: 'snapshot: kept for good',
    file: SNAPSHOTS,
    find: 'where s.service_id = :serviceId and not exists',
    replace: 'where false and s.service_id = :serviceId and not exists',
  },
  {
    name: 'images: the one that serves is removed',
    file: IMAGES,
    find: 'where s.id = :serviceId and d.image_id = i.id',
    replace: 'where false and s.id = :serviceId',
  },
  {
    name: 'images: the one of an open rollback is removed',
    file: IMAGES,
    find: ' and not coalesce(r.open, false)',
    replace: '',
  },
  {
    name: 'images: the oldest are kept',
    file: IMAGES,
    find: 'order by u.went_live_at desc nulls last',
    replace: 'order by u.went_live_at nulls last',
  },
  {
    name: 'replicas: an earlier attempt changes the record',
    file: REPLICAS,
    find: ".where({ id: row.id, restarts: row.restarts })\n            .whereIn('state', from)",
    replace: ".where({ id: row.id })\n            .whereIn('state', from)",
  },
  {
    name: 'replicas: one that is to stop is claimed',
    file: REPLICAS,
    find: "restarts: row.restarts, desired: 'running' })\n            .whereIn('state', ['pending', 'exited'])",
    replace: "restarts: row.restarts })\n            .whereIn('state', ['pending', 'exited'])",
  },
  {
    name: 'replicas: one that never was ready starts again',
    file: REPLICAS,
    find: 'next_start_at: proven ? new Date(now.getTime() + delayMs) : null',
    replace: 'next_start_at: new Date(now.getTime() + delayMs)',
  },
  {
    name: 'replicas: a release that does not serve changes its service',
    file: REPLICAS,
    find: 'where id = ? and live_deployment_id = ? for no key update',
    replace: 'where id = ? and cast(? as uuid) is not null for no key update',
  },
  {
    name: 'replicas: the edge is not told of a change',
    file: REPLICAS,
    find: "case when :route then nextval('route_versions') else route_version end",
    replace: 'case when :route then route_version else route_version end',
  },
  {
    name: 'replicas: the mark of a log moves twice',
    file: REPLICAS,
    find: 'where({ id, log_offset: from })',
    replace: 'where({ id })',
  },
  {
    name: 'replicas: records are forgotten too early',
    file: REPLICAS,
    find: "stopped_at < now() - interval '1 day'",
    replace: "stopped_at < now() - interval '1 hour'",
  },
  {
    name: 'replicas: records of running ones are forgotten',
    file: REPLICAS,
    find: "where state = 'stopped' and stopped_at",
    replace: 'where stopped_at',
  },
  {
    name: 'replicas: a generation is begun a third time',
    file: 'shared/replicas/desire-store.ts',
    find: '(fresh && running.length === 1)',
    replace: 'fresh',
  },
  {
    name: 'replicas: a port is given away before the edges know',
    file: 'shared/replicas/port-store.ts',
    find: 'and a.version >= p.route_version',
    replace: '',
  },
  {
    name: 'replicas: a port rests although every edge knows',
    file: 'shared/replicas/port-store.ts',
    find: 'and not exists (select from edge_acknowledgements a',
    replace:
      'and exists (select from services where p.service_id is not null) or exists (select from edge_acknowledgements a',
  },
  {
    name: 'replicas: the wait before a start grows without end',
    file: 'shared/replicas/model.ts',
    find: 'Math.min(60_000,',
    replace: 'Math.max(1000,',
  },
  {
    name: 'replicas: a generation that comes up decides the health',
    file: 'shared/replicas/model.ts',
    find: '(proven.length > 0 ? proven : running)',
    replace: 'running',
  },
  {
    name: 'route: an edge that lags behind is not waited for',
    file: ROUTING,
    find: 'and a.version >= ?)',
    replace: 'and a.version + 1 >= ?)',
  },
  {
    name: 'route: an edge that is silent is waited for',
    file: ROUTING,
    find: 'where e.seen_at > now() - make_interval(secs => ${EDGE_SEEN_SECONDS})\n        and not exists',
    replace: 'where e.seen_at is not null\n        and not exists',
  },
  {
    name: 'route: an acknowledgement goes back',
    file: ROUTING,
    find: 'greatest(edge_acknowledgements.version, excluded.version)',
    replace: 'excluded.version',
  },
  {
    name: 'route: replicas that are not ready get requests',
    file: ROUTING,
    find: " and state = 'ready' and port",
    replace: ' and port',
  },
  {
    name: 'route: replicas that are to stop get requests',
    file: ROUTING,
    find: "and desired = 'running' and state",
    replace: 'and state',
  },
  {
    name: 'route: replicas of another release get requests',
    file: ROUTING,
    find: ' and deployment_id = s.live_deployment_id',
    replace: '',
  },
  {
    name: 'edge: a service that is being deleted is served',
    file: EDGE_TABLE,
    find: "facts.lifecycleStatus === 'deleting' || ",
    replace: '',
  },
  {
    name: 'edge: a suspended service is served',
    file: EDGE_TABLE,
    find: "if (facts.lifecycleStatus === 'suspended')",
    replace: "if (facts.lifecycleStatus === 'deleted')",
  },
  {
    name: 'edge: a route that changed stays as it was',
    file: EDGE_TABLE,
    find: 'before !== undefined && isDeepStrictEqual(before, route)',
    replace: 'before !== undefined',
  },
  {
    name: 'edge: the host that a service had stays',
    file: EDGE_TABLE,
    find: '!ids.has(route.serviceId)',
    replace: 'ids.size >= 0',
  },
  {
    name: 'edge: a service without a platform domain is served',
    file: EDGE_TABLE,
    find: ' || !facts.platformDomainEnabled',
    replace: '',
  },
  {
    name: 'edge: kinds without a public address are served',
    file: EDGE_TABLE,
    find: '!isRouted(facts.kind) || ',
    replace: '',
  },
  {
    name: 'edge: no ready replica, and the request is proxied',
    file: EDGE_TABLE,
    find: 'facts.replicas.length === 0',
    replace: 'facts.replicas.length < 0',
  },
  {
    name: 'seal: a value opens in another row',
    file: SEALS,
    find: '${binding}:${id}',
    replace: '${binding}',
    places: 2,
  },
  { name: 'seal: a value opens in another column', file: SEALS, find: '${binding}:${id}', replace: '${id}', places: 2 },
  {
    name: 'seal: a key that is not the first one seals',
    file: 'shared/secrets/keyring.ts',
    find: "const key = Buffer.from(current.reveal(), 'base64');",
    replace: "const key = Buffer.from((older[0] ?? current).reveal(), 'base64');",
  },
  {
    name: 'seal: a process without the key starts',
    file: ROTATE,
    find: 'if (missing.length > 0)',
    replace: 'if (missing.length > 99)',
  },
  {
    name: 'seal: the old key is forgotten although a value needs it',
    file: ROTATE,
    find: 'if (rotation.unopenable.length === 0)',
    replace: 'if (rotation.unopenable.length >= 0)',
  },
  {
    name: 'seal: a value that changed meanwhile is replaced',
    file: 'shared/secrets/sealed-values.ts',
    find: '.where({ id, [column]: sealed })',
    replace: '.where({ id })',
  },
  {
    name: 'seal: a deleted service keeps a sealed column',
    file: 'shared/services/lifecycle-store.ts',
    find: 'if (erased === null)',
    replace: "if (erased === null || erased.how === 'value')",
  },
  {
    name: 'seal: a deleted service keeps rows with sealed values',
    file: 'shared/services/lifecycle-store.ts',
    find: 'if (erased === null)',
    replace: "if (erased === null || erased.how === 'row')",
  },
  {
    name: 'receipt: found after it has expired',
    file: RECEIPTS,
    find: "whereRaw('expires_at > now()')",
    replace: "whereRaw('true')",
  },
  { name: 'receipt: kept for 24 minutes', file: RECEIPTS, find: '24 hours', replace: '24 minutes' },
  {
    name: 'receipt: all are deleted',
    file: RECEIPTS,
    find: "whereRaw('expires_at <= now()')",
    replace: "whereRaw('true')",
  },
  {
    name: 'receipt: two requests with a key do not wait',
    file: RECEIPTS,
    find: 'await lockUntilCommit(trx, `receipt ${scope} ${key}`);',
    replace: '',
  },
  {
    name: 'receipt: expired ones count for the quota',
    file: RECEIPTS,
    find: 'where workspace_id = :workspaceId and expires_at > now()',
    replace: 'where workspace_id = :workspaceId',
  },
  {
    name: 'receipt: the quota admits one too many',
    file: 'api/http/receipt-quota.ts',
    find: 'count < this.#most.count',
    replace: 'count <= this.#most.count',
  },
  {
    name: 'session: never idle',
    file: SESSIONS,
    find: 's.expires_at > now() and s.seen_at > now() - ${IDLE}',
    replace: 's.expires_at > now()',
  },
  { name: 'session: never expires', file: SESSIONS, find: 's.expires_at > now() and s.seen_at', replace: 's.seen_at' },
  {
    name: 'session: good for every client',
    file: SESSIONS,
    find: ' and s.client is not distinct from :client',
    replace: '',
  },
  {
    name: 'session: the surplus that ends is the newest',
    file: SESSIONS,
    find: 'order by seen_at desc, id desc offset',
    replace: 'order by seen_at, id offset',
  },
  {
    name: 'session: others survive a change of the second factor',
    file: SESSIONS,
    find: 'where user_id = ? and id <> ?',
    replace: 'where user_id = ? and id = ? and false',
  },
  {
    name: 'session: survives a new password',
    file: 'shared/identity/store.ts',
    find: 'delete from sessions where user_id = :userId',
    replace: 'delete from sessions where false and user_id = :userId',
  },
  {
    name: 'session: a code is good twice',
    file: 'shared/identity/second-factor-store.ts',
    find: 'totp_counter < :counter',
    replace: 'totp_counter <= :counter',
  },
  {
    name: 'session: a token that verifies an address never expires',
    file: 'shared/identity/store.ts',
    find: ' and verification_expires_at > now()',
    replace: '',
  },
  {
    name: 'session: a client is known for good',
    file: SESSIONS,
    find: ' and k.seen_at > now() - ${REMEMBERED}',
    replace: '',
  },
  {
    name: 'retention: logs expire a day early',
    file: 'shared/logs/model.ts',
    find: "at time zone 'UTC')::date + ${days}",
    replace: "at time zone 'UTC')::date - 1 + ${days}",
  },
  {
    name: 'retention: logs are never deleted',
    file: 'shared/logs/retention.ts',
    find: "'YYYYMMDD') <= ${TODAY}",
    replace: "'YYYYMMDD') <= ${TODAY} - 10000",
  },
  {
    name: 'logs: lines do not wait behind batches that are older',
    file: 'shared/logs/store-lines.ts',
    find: 'and not exists (select from log_batches b where b.service_id = $1)',
    replace: '',
  },
  {
    name: 'rate limit: points of a window that has ended are handed out',
    file: 'api/http/shared-window.ts',
    find: 'lease.endsAt > now && !window.taking',
    replace: '!window.taking',
  },
  {
    name: 'rate limit: a process is granted more than is left',
    file: 'shared/limits/model.ts',
    find: 'Math.min(taken, limit - before)',
    replace: 'taken',
  },
  {
    name: 'keys: a revoked key goes on working',
    file: 'shared/identity/access-store.ts',
    find: 'k.revoked_at is null and ',
    replace: '',
  },
  {
    name: 'policy: a developer writes in a protected environment',
    file: POLICY,
    find: "protectedRole: 'admin'",
    replace: "protectedRole: 'developer'",
  },
  { name: 'policy: a key that only reads may write', file: POLICY, find: "facts.scope !== 'write' || ", replace: '' },
  { name: 'policy: no second factor is needed', file: POLICY, find: 'if (facts.mfaMissing)', replace: 'if (false)' },
  {
    name: 'policy: an address need not be verified',
    file: POLICY,
    find: 'if (!facts.emailVerified)',
    replace: 'if (false)',
  },
  {
    name: 'policy: a role has no rights of its own',
    file: POLICY,
    find: 'ROLES.indexOf(role) >= ROLES.indexOf(needed)',
    replace: 'ROLES.indexOf(role) > ROLES.indexOf(needed)',
  },
  {
    name: 'policy: a viewer changes settings of the workspace',
    file: POLICY,
    find: "ADMIN = { access: 'write', role: 'admin' }",
    replace: "ADMIN = { access: 'write', role: 'viewer' }",
  },
  { name: 'limits: one service too many', file: LIMITS, find: '< workspaceLimit)', replace: '<= workspaceLimit)' },
  {
    name: 'limits: overages are never allowed',
    file: LIMITS,
    find: ' || workspaceConfiguration(workspace.configuration).allowOverages',
    replace: '',
  },
  { name: 'limits: builds go on past their minutes', file: LIMITS, find: '< limit)', replace: '<= limit)' },
  {
    name: 'limits: the budget may not be reached',
    file: LIMITS,
    find: 'if (cost <= budget)',
    replace: 'if (cost < budget)',
  },
  {
    name: 'limits: the service counts twice',
    file: LIMITS,
    find: '.filter(({ id }) => id !== service.id)',
    replace: '',
  },
  {
    name: 'limits: builds of earlier months count',
    file: 'shared/workspaces/usage.ts',
    find: 'from builds, month where finished > month.start',
    replace: 'from builds, month',
  },
  {
    name: 'limits: alerts come late',
    file: BILLING,
    find: 'cost * 100 >= budget * threshold',
    replace: 'cost * 100 > budget * threshold',
  },
  { name: 'limits: lifting the budget is no consent', file: BILLING, find: '|| lifted ', replace: '' },
  { name: 'limits: another currency is no consent', file: BILLING, find: ' || revalued', replace: '' },
  { name: 'limits: overages bind', file: BILLING, find: 'budget > 0 && !allowOverages', replace: 'budget > 0' },
  {
    name: 'variables: one too many',
    file: VARIABLES,
    find: 'count >= MOST_VARIABLES',
    replace: 'count > MOST_VARIABLES',
  },
  {
    name: 'variables: one byte less than allowed',
    file: VARIABLES,
    find: 'bytes + added <= VARIABLES_BYTES',
    replace: 'bytes + added < VARIABLES_BYTES',
  },
  { name: 'variables: keys do not count', file: VARIABLES, find: 'Buffer.byteLength(key) + (', replace: '0 + (' },
  {
    name: 'variables: the group wins over the service',
    file: 'shared/variables/source-store.ts',
    find: 'order by key, rank desc',
    replace: 'order by key, rank',
  },
  {
    name: 'variables: the group linked first wins',
    file: 'shared/variables/source-store.ts',
    find: 'rank desc, linked_at desc',
    replace: 'rank desc, linked_at',
  },
  {
    name: 'variables: a circle is followed',
    file: RESOLVE,
    find: 'if (path.includes(step))',
    replace: 'if (path.length > 40)',
  },
  {
    name: 'variables: an archived provider lends',
    file: RESOLVE,
    find: 'if (provider.archived)',
    replace: 'if (false)',
  },
  {
    name: 'variables: a protected environment lends to everybody',
    file: RESOLVE,
    find: 'if (provider.protected_environment !== null)',
    replace: 'if (false)',
  },
  {
    name: 'logs: ids go against the order of the batches',
    file: INGEST,
    find: '(order by m.created_at, m.id, l.place)',
    replace: '(order by m.created_at desc, m.id desc, l.place)',
  },
  {
    name: 'logs: lines of a batch lose their order',
    file: INGEST,
    find: '(order by m.created_at, m.id, l.place)',
    replace: '(order by m.created_at, m.id, l.place desc)',
  },
  {
    name: 'logs: ids begin again',
    file: INGEST,
    find: 'await setLastLogId(trx, serviceId, last + lines);',
    replace: '',
  },
  { name: 'logs: two processes move one batch', file: INGEST, find: 'for update ${wait}', replace: '' },
  {
    name: 'logs: a refused batch is tried for ever',
    file: 'shared/logs/refused-batch.ts',
    find: 'const MOST_SPLITS = 40;',
    replace: 'const MOST_SPLITS = 40_000;',
  },
  {
    name: 'logs: lines behind a refused one are lost',
    file: 'shared/logs/refused-batch.ts',
    find: 'await this.store(middle, to);',
    replace: '',
  },
  {
    name: 'logs: a refused batch stays in the way',
    file: 'shared/logs/refused-batch.ts',
    find: "await trx.raw('delete from log_batches where id = ?', [batch.id]);",
    replace: '',
  },
  {
    name: 'logs: a batch has no bound of lines',
    file: 'shared/logs/batch-store.ts',
    find: 'BATCH_LINES = 1000',
    replace: 'BATCH_LINES = 100_000',
  },
  {
    name: 'logs: characters that cannot be stored are kept',
    file: 'shared/logs/batch-store.ts',
    find: "line.message.replace(UNSTORABLE, '\\ufffd')",
    replace: 'line.message',
  },
  {
    name: 'logs: the line of the cursor is read again',
    file: LOG_LINES,
    find: "where('id', '>', after)",
    replace: "where('id', '>=', after)",
  },
  { name: 'logs: another branch is shown', file: LOG_LINES, find: 'if (branch !== undefined)', replace: 'if (false)' },
  {
    name: 'logs: a search takes patterns',
    file: LOG_LINES,
    find: "search.replace(/[\\\\%_]/g, '\\\\$&')",
    replace: 'search',
  },
  {
    name: 'logs: lines past their hours are shown',
    file: LOG_LINES,
    find: "interval '1 hour'",
    replace: "interval '1 day'",
  },
  {
    name: 'logs: there is always more',
    file: LOG_LINES,
    find: 'hasMore: found > page.length',
    replace: 'hasMore: found >= page.length',
  },
  {
    name: 'canvas: a save of an old revision wins',
    file: CANVAS,
    find: 'scope_id = :scopeId and revision = :revision',
    replace: 'scope_id = :scopeId and cast(:revision as int) >= 0',
  },
  {
    name: 'canvas: nodes that have gone keep their place',
    file: 'shared/canvas/model.ts',
    find: 'nodes.has(id)',
    replace: 'nodes.size >= 0',
  },
  {
    name: 'canvas: one node less than the limit',
    file: 'shared/canvas/model.ts',
    find: 'records.length <= limit',
    replace: 'records.length < limit',
  },
  {
    name: 'canvas: archived services are shown',
    file: CANVAS,
    find: ".where('s.archived', false)",
    replace: '',
  },
  {
    name: 'slug: the name of a deleted service is free at once',
    file: SERVICES,
    find: 'deleted_at > now() - make_interval(days => ${SLUG_REST_DAYS})',
    replace: 'false',
  },
  {
    name: 'slug: its own workspace waits too',
    file: SERVICES,
    find: 'and workspace_id <> cast(:workspaceId as uuid)',
    replace: 'and cast(:workspaceId as uuid) is not null',
  },
  {
    name: 'slug: a reserved name is given',
    file: SERVICES,
    find: 'if (reservedSlugs.has(slug))',
    replace: 'if (false)',
  },
  {
    name: 'service: a newer failure hides the release that serves',
    file: 'shared/services/model.ts',
    find: 'if (facts.liveDeploymentId !== null)',
    replace: "if (facts.liveDeploymentId !== null && latest !== 'failed')",
  },
  {
    name: 'service: deleted at once although it has images',
    file: 'shared/services/lifecycle-store.ts',
    find: 'select 1 from images where service_id = :serviceId and removed_at is null',
    replace: 'select 1 from images where false and service_id = :serviceId',
  },
  {
    name: 'repository: file: is allowed on every installation',
    file: 'shared/services/source.ts',
    find: "return allowLocal ? null : 'file:",
    replace: "return true ? null : 'file:",
  },
  {
    name: 'repository: private addresses are allowed',
    file: 'shared/services/source.ts',
    find: 'if (!allowLocal && isPrivateAddress(hostOf(url)))',
    replace: 'if (false)',
  },
  {
    name: 'repository: its token is shown',
    file: 'shared/services/source.ts',
    find: 'url.username = MASK;',
    replace: 'url.username = url.username;',
  },
  {
    name: 'notification: a failure is kept quiet',
    file: 'shared/notifications/model.ts',
    find: "setting === 'failure' && status === 'failed'",
    replace: "setting === 'failure' && status === 'live'",
  },
  {
    name: 'git: file: is always allowed',
    file: 'workers/sources/git-command.ts',
    find: "this.#options.allowFile ? 'https:http:file' : 'https:http'",
    replace: "'https:http:file'",
  },
  {
    name: 'health: a 4xx answer is healthy',
    file: 'workers/runtime/health.ts',
    find: 'status < 400',
    replace: 'status < 500',
  },
  {
    name: 'health: one bad check takes a replica out',
    file: 'workers/runtime/health-watch.ts',
    find: 'BAD_CHECKS = 2',
    replace: 'BAD_CHECKS = 1',
  },
  {
    name: 'health: one good check puts a replica in',
    file: 'workers/runtime/health-watch.ts',
    find: 'GOOD_CHECKS = 2',
    replace: 'GOOD_CHECKS = 1',
  },
  {
    name: 'health: the port of another process is asked',
    file: 'workers/runtime/health-watch.ts',
    find: 'if (!(await listens(row.port)))',
    replace: 'if (false)',
  },
  {
    name: 'drain: never waited for',
    file: 'workers/runtime/let-go.ts',
    find: 'if (version !== undefined)',
    replace: 'if (version === undefined)',
  },
  {
    name: 'body: one byte over the limit',
    file: 'api/http/body.ts',
    find: 'textLimit: BODY_LIMIT',
    replace: 'textLimit: BODY_LIMIT + 1',
  },
  {
    name: 'body: compressed bodies are read',
    file: 'api/http/body.ts',
    find: 'if (!/^(identity)?$/i.test(',
    replace: 'if (!/^.*$/i.test(',
  },
  {
    name: 'sweeps: run without leadership',
    file: 'workers/sweeps/sweeps.ts',
    find: "if (scope === 'platform' && !leadership.leading)",
    replace: 'if (false)',
  },
  {
    name: 'decide: a deployment that visitors see fails',
    file: 'workers/deploy/decide.ts',
    find: 'if (!canBeCancelled(state))\n',
    replace: 'if (false)\n',
  },
  {
    name: 'decide: the first fault of the platform ends a deployment',
    file: 'workers/deploy/decide.ts',
    find: 'if (!lastTry)',
    replace: 'if (false)',
  },
];
