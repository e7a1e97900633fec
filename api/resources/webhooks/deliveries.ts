import { type TSchema, Type } from 'typebox';
import { ALERT_METRICS } from '../../../shared/alerts/model.js';
import { DEPLOYMENT_TRIGGERS } from '../../../shared/deployments/model.js';
import { RUN_TRIGGERS } from '../../../shared/runs/model.js';
import type { WebhookEvent } from '../../../shared/webhooks/model.js';
import { Nullable, oneOf, Strict, Timestamp, Uuid } from '../../http/schema.js';

const SERVICE = { serviceId: Uuid, serviceName: Type.String() };
const DEPLOYMENT = Strict({
  ...SERVICE,
  deploymentId: Uuid,
  trigger: oneOf('DeploymentTrigger', DEPLOYMENT_TRIGGERS),
  actor: Type.String(),
  branch: Type.String(),
  commitSha: Type.String(),
  commitMessage: Type.String(),
  error: Type.String({ description: 'Why the deployment failed; empty if the deployment is live' }),
  url: Type.Optional(Type.String({ description: 'The address of the service; absent if it has no visitors' })),
});
const RUN = Strict({
  ...SERVICE,
  runId: Uuid,
  trigger: oneOf('RunTrigger', RUN_TRIGGERS),
  attempt: Type.Integer(),
  exitCode: Nullable(Type.Integer()),
  error: Type.String(),
});
const BACKUP = Strict({ ...SERVICE, backupId: Uuid, error: Type.String() });
const BUDGET = Strict({
  workspaceName: Type.String(),
  threshold: Type.Integer({ description: 'The share of the budget that is reached, in per cent' }),
  cost: Type.Number({ description: 'The estimated costs of this month' }),
  budget: Type.Number(),
  currency: Type.String(),
  usedPercent: Nullable(Type.Number()),
});

const ALERT = Strict({
  ...SERVICE,
  alertId: Uuid,
  metric: oneOf('AlertMetric', ALERT_METRICS),
  above: Type.Number(),
  forMinutes: Type.Integer(),
  value: Nullable(Type.Number({ description: 'The last measured value, in the unit of above' })),
  since: Nullable(Timestamp),
});

const EVENTS: Readonly<Record<WebhookEvent, [description: string, data: TSchema]>> = {
  'deployment.live': ['A deployment went live', DEPLOYMENT],
  'deployment.failed': ['A deployment failed', DEPLOYMENT],
  'run.failed': ['A run failed', RUN],
  'backup.failed': ['A backup failed', BACKUP],
  'budget.alert': ['Estimated costs reached a share of the budget', BUDGET],
  'alert.firing': ['A value was beyond the threshold of an alert rule', ALERT],
  'alert.resolved': ['The value is back to normal', ALERT],
};

/** What is sent to outgoing webhooks, by event. `workers/webhooks` sends it. */
export const DELIVERIES: Readonly<Record<string, { description: string; body: TSchema }>> = Object.fromEntries(
  Object.entries(EVENTS).map(([event, [description, data]]) => {
    const id = Type.String({ ...Uuid, description: 'The id of the delivery; retries have the same id' });
    const body = Strict({ id, event: Type.Literal(event), workspaceId: Uuid, createdAt: Timestamp, data });
    return [event, { description, body }];
  }),
);
