import { createHash } from 'node:crypto';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { traceOf } from '../../shared/deployments/trace-context.js';
import { attributes, byService, nanoseconds, SCOPE, type ServiceFacts } from './otlp.js';

type EndedDeployment = Pick<
  DeploymentRow,
  'id' | 'status' | 'trigger' | 'branch' | 'commit_sha' | 'error' | 'steps' | 'created_at' | 'traceparent'
> & { finished_at: Date };
export type TracedDeployment = EndedDeployment & ServiceFacts;

const KIND_INTERNAL = 1;
const STATUS = { ok: 1, error: 2 } as const;

/** Returns the OTLP export request for these deployments. Each is a trace, with a root span and one span per step. */
export function tracesRequest(deployments: readonly TracedDeployment[]) {
  return {
    resourceSpans: byService(deployments).map(({ resource, rows }) => ({
      resource,
      scopeSpans: [{ scope: SCOPE, spans: rows.flatMap(spansOf) }],
    })),
  };
}

function spansOf(deployment: TracedDeployment) {
  const { id, status, trigger, branch, commit_sha, error, steps, created_at, finished_at, traceparent } = deployment;
  // Ids derive from the deployment and its parent trace, so that a repeated request has the same ids.
  const parent = traceparent === null ? null : traceOf(traceparent);
  const traceId = parent?.traceId ?? id.replaceAll('-', '');
  const spanId = spanIdOf(id, '');
  const common = { traceId, kind: KIND_INTERNAL };
  const outcome =
    status === 'failed' ? { code: STATUS.error, message: error } : status === 'live' ? { code: STATUS.ok } : {};
  const whole = {
    ...common,
    spanId,
    ...(parent === null ? {} : { parentSpanId: parent.spanId }),
    name: `deploy ${deployment.service_name}`,
    startTimeUnixNano: nanoseconds(created_at),
    endTimeUnixNano: nanoseconds(finished_at),
    attributes: attributes({
      'ranvier.deployment.id': id,
      'ranvier.deployment.status': status,
      'ranvier.deployment.trigger': trigger,
      'vcs.ref.head.name': branch,
      'vcs.ref.head.revision': commit_sha,
    }),
    status: outcome,
  };
  const parts = steps.map((step, index) => ({
    ...common,
    spanId: spanIdOf(id, step.name),
    parentSpanId: spanId,
    name: step.name,
    startTimeUnixNano: nanoseconds(new Date(step.startedAt)),
    endTimeUnixNano: nanoseconds(step.finishedAt === null ? finished_at : new Date(step.finishedAt)),
    attributes: attributes({ 'ranvier.deployment.id': id, 'ranvier.run.id': step.runId ?? null }),
    status: status === 'failed' && index === steps.length - 1 ? outcome : {},
  }));
  return [whole, ...parts];
}

function spanIdOf(deploymentId: string, part: string): string {
  return createHash('sha256').update(`${deploymentId} ${part}`).digest('hex').slice(0, 16);
}
