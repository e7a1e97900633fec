import { type TSchema, Type } from 'typebox';
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

/** What is sent to outgoing webhooks, by event. `workers/webhooks` sends it. */
export const DELIVERIES: Readonly<Record<WebhookEvent, { description: string; body: TSchema }>> = {
  'deployment.live': { description: 'A deployment went live', body: delivery('deployment.live', DEPLOYMENT) },
  'deployment.failed': { description: 'A deployment failed', body: delivery('deployment.failed', DEPLOYMENT) },
  'run.failed': { description: 'A run failed', body: delivery('run.failed', RUN) },
  'backup.failed': { description: 'A backup failed', body: delivery('backup.failed', BACKUP) },
  'budget.alert': {
    description: 'Estimated costs reached a share of the budget',
    body: delivery('budget.alert', BUDGET),
  },
};

function delivery(event: WebhookEvent, data: TSchema): TSchema {
  return Strict({
    id: Type.String({ ...Uuid, description: 'The id of the delivery; retries have the same id' }),
    event: Type.Literal(event),
    workspaceId: Uuid,
    createdAt: Timestamp,
    data,
  });
}
