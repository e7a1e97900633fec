import type { Fault } from '../fault.js';

const REPLICAS = 'shared/replicas/store.ts';

export const REPLICAS_FAULTS: readonly Fault[] = [
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
    name: 'health: a 4xx answer is healthy',
    file: 'workers/runtime/readiness.ts',
    find: 'status < 400',
    replace: 'status < 500',
  },
  {
    name: 'health: one bad check takes a replica out',
    file: 'workers/runtime/readiness.ts',
    find: 'FAILURES_TO_LEAVE = 2',
    replace: 'FAILURES_TO_LEAVE = 1',
  },
  {
    name: 'health: one good check puts a replica in',
    file: 'workers/runtime/readiness.ts',
    find: 'PASSES_TO_START = 2',
    replace: 'PASSES_TO_START = 1',
  },
  {
    name: 'health: the port of another process is asked',
    file: 'workers/runtime/health-watch.ts',
    find: 'if (!(await ownsPort(port)))',
    replace: 'if (false)',
  },
  {
    name: 'drain: never waited for',
    file: 'workers/edges-applied.ts',
    find: 'if (version !== undefined)',
    replace: 'if (version === undefined)',
  },
  {
    name: 'health: a replica without a port is ready at once',
    file: 'workers/runtime/readiness.ts',
    find: 'now - startedAt >= settledMs',
    replace: 'now >= startedAt',
  },
  {
    name: 'health: a check runs before it is due',
    file: 'workers/runtime/health-watch.ts',
    find: 'if (Date.now() < this.#nextCheckAt)',
    replace: 'if (false)',
  },
  {
    name: 'health: checks of an earlier attempt count',
    file: 'workers/runtime/health-watch.ts',
    find: 'this.#checks = [];\n        this.#startedAt',
    replace: 'this.#startedAt',
  },
  {
    name: 'health: an unhealthy replica keeps its requests',
    file: 'workers/runtime/health-watch.ts',
    find: "else if (verdict === 'unhealthy')",
    replace: 'else if (false)',
  },
  {
    name: 'health: an application is asked under another name',
    file: 'workers/runtime/health-check.ts',
    find: "const headers = { host, 'user-agent'",
    replace: "const headers = { 'user-agent'",
  },
  {
    name: 'health: an answer may take for ever',
    file: 'workers/runtime/health-check.ts',
    find: 'ANSWER_MS = 2_000',
    replace: 'ANSWER_MS = 200_000',
  },
  {
    name: 'health: a path is not asked for',
    file: 'workers/runtime/health-check.ts',
    find: "target.path === '' ? checkPort",
    replace: "target.path !== '/x' ? checkPort",
  },
  {
    name: 'replicas: a second process is recorded for one claim',
    file: REPLICAS,
    find: "state: 'starting', pid: null }",
    replace: "state: 'starting' }",
  },
  {
    name: 'replicas: a crash while starting keeps the attempt',
    file: REPLICAS,
    find: 'restarts: row.restarts + 1,\n        pid: null',
    replace: 'restarts: row.restarts,\n        pid: null',
  },
  {
    name: 'replicas: a long run does not end the back-off',
    file: REPLICAS,
    find: 'wasStable(row, now) ? 0 : row.restarts',
    replace: 'row.restarts',
  },
  {
    name: "replicas: a container's port rests as one of the host",
    file: REPLICAS,
    find: 'row.task_id === null && row.address === LOOPBACK',
    replace: 'row.address === LOOPBACK',
  },
  {
    name: 'replicas: a stopped one is to run',
    file: REPLICAS,
    find: "state: 'stopped',\n        desired: 'stopped',",
    replace: "state: 'stopped',",
  },
];
