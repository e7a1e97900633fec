// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const RUNS_FAULTS: readonly Fault[] = [
  {
    name: 'run: one that waits is claimed',
    file: 'shared/engine/transition.ts',
    find: "'and admitted_at is not null'",
    replace: "''",
  },
  {
    name: 'run: tried again although it is cancelled',
    file: 'shared/engine/transition.ts',
    find: "waits ? 'and cancel_requested_at is null'",
    replace: "waits ? ''",
  },
  {
    name: 'run: tried again at once',
    file: 'shared/runs/store.ts',
    find: 'not_before = now() + ${Math.round(delayMs)} * interval',
    replace: 'not_before = now() + 0 * ${Math.round(delayMs)} * interval',
  },
  {
    name: 'run: keeps its slot while it waits',
    file: 'shared/runs/store.ts',
    find: 'admitted_at = null, ',
    replace: '',
  },
  {
    name: 'run: an attempt under way changes its release',
    file: 'shared/runs/kind.ts',
    find: 'and not exists (select from replicas p where p.run_id = claimed.id and p.run_attempt = claimed.attempt)',
    replace: '',
  },
  {
    name: 'run: a cancelled one fails',
    file: 'shared/engine/transition.ts',
    find: 'const wins = ends &&',
    replace: 'const wins = false &&',
  },
  {
    name: 'run: deleted while a process of it is left',
    file: 'shared/runs/store.ts',
    find: "and not exists (select from replicas r where r.run_id = runs.id and r.state <> 'stopped')",
    replace: '',
  },
  {
    name: 'run: silent workers have slots',
    file: 'shared/runs/run-admission.ts',
    find: "where seen_at > now() - interval '${ONLINE_SECONDS} seconds'",
    replace: '',
  },
  {
    name: 'run: one workspace takes all slots',
    file: 'shared/runs/run-admission.ts',
    find: 'greatest(1, ceil(slots.total / 2.0))',
    replace: 'slots.total',
  },
  {
    name: 'run: more run than there are slots',
    file: 'shared/runs/run-admission.ts',
    find: '<= slots.total - slots.taken',
    replace: '<= slots.total',
  },
  {
    name: 'run: admitted before its time',
    file: 'shared/runs/run-admission.ts',
    find: 'and cancel_requested_at is null and not_before <= now()',
    replace: 'and cancel_requested_at is null',
  },
  {
    name: 'run: its job is not due',
    file: 'shared/runs/run-admission.ts',
    find: 'dispatches = dispatches + 1, due_at = now(), updated_at',
    replace: 'dispatches = dispatches + 1, updated_at',
  },
  {
    name: 'run: more than maxConcurrency on demand',
    file: 'api/resources/runs/commands.ts',
    find: 'if (open < most)',
    replace: 'if (open <= most)',
  },
  {
    name: 'run: of a suspended service',
    file: 'api/resources/services/lock-live-service.ts',
    find: "if (service.lifecycle_status === 'suspended')",
    replace: 'if (false)',
  },
  {
    name: 'run: that of a deployment takes a slot',
    file: 'shared/runs/run-admission.ts',
    find: " and trigger <> 'deployment'",
    replace: '',
  },
  {
    name: 'run: that of a deployment gets the release that serves',
    file: 'shared/runs/kind.ts',
    find: " and claimed.trigger <> 'deployment'",
    replace: '',
  },
  {
    name: 'run: a command that was given is started twice',
    file: 'workers/replicas/start-store.ts',
    find: 'row.run_id !== null && (await isStartedOnce(db, row.run_id))',
    replace: 'false',
  },
  {
    name: 'run: a command keeps the schedule from running',
    file: 'shared/runs/schedule-store.ts',
    find: ' and command is null',
    replace: '',
  },
  {
    name: 'release: an attempt counts as a replica that serves',
    file: 'workers/releases/release-store.ts',
    find: 'r.deployment_id = d.id and r.run_id is null and',
    replace: 'r.deployment_id = d.id and',
  },
  {
    name: 'run: one attempt too many',
    file: 'shared/runs/model.ts',
    find: 'if (attempt > maxRetries)',
    replace: 'if (attempt > maxRetries + 1)',
  },
  {
    name: 'run: one that hung is tried again',
    file: 'shared/runs/model.ts',
    find: "if (outcome.type === 'timeout')",
    replace: 'if (false)',
  },
  {
    name: 'schedule: a tick is fired twice',
    file: 'shared/runs/schedule-store.ts',
    find: 'and c.next_run_at = :expected',
    replace: '',
  },
  {
    name: 'schedule: of a suspended service runs',
    file: 'shared/runs/schedule-store.ts',
    find: "(s.lifecycle_status = 'active' and ",
    replace: '(true and ',
  },
  {
    name: 'schedule: a tick too many runs at once',
    file: 'shared/runs/schedule-store.ts',
    find: "case when open.runs < open.most then 'queued'",
    replace: "case when open.runs <= open.most then 'queued'",
  },
];
