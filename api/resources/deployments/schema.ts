import { type Static, Type } from 'typebox';
import { DEPLOYMENT_STATUSES, DEPLOYMENT_TRIGGERS, STEP_NAMES } from '../../../shared/deployments/model.js';
import {
  PartialServiceConfigurationSchema,
  ServiceConfigurationSchema,
} from '../../../shared/services/configuration.js';
import { CommitSha } from '../../../shared/services/service-source.js';
import { described, Nullable, oneOf, PageQuery, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

export const DeploymentSchema = Strict(
  {
    id: Uuid,
    status: oneOf('DeploymentStatus', DEPLOYMENT_STATUSES),
    trigger: oneOf('DeploymentTrigger', DEPLOYMENT_TRIGGERS),
    actor: Type.String(),
    branch: Type.String(),
    commitSha: Type.String(),
    commitMessage: Type.String(),
    blockedReason: Type.String(),
    error: Type.String(),
    canRollback: Type.Boolean(),
    cancelRequested: Type.Boolean(),
    sourceDeploymentId: Nullable(Uuid),
    createdAt: Timestamp,
    startedAt: Nullable(Timestamp),
    finishedAt: Nullable(Timestamp),
    steps: Type.Array(
      Strict({
        name: oneOf('DeploymentStep', STEP_NAMES),
        startedAt: Timestamp,
        finishedAt: Nullable(Timestamp),
        runId: Type.Optional(described(Uuid, 'The run of the pre-deploy command; absent if the step has no such run')),
      }),
    ),
  },
  'Deployment',
);
export type DeploymentPresentation = Static<typeof DeploymentSchema>;

export const DeploymentResponse = Strict({ deployment: DeploymentSchema });
export const DeploymentListResponse = Strict({
  available: Type.Boolean(),
  items: Type.Array(DeploymentSchema),
  page: PageSchema,
  reason: Type.String(),
});
export const WorkspaceDeploymentQuery = Strict({
  ...PageQuery.properties,
  active: Type.Optional(described(oneOf('Flag', ['true', 'false']), 'true: only deployments that wait or run')),
});
const WorkspaceDeploymentSchema = Strict(
  { ...DeploymentSchema.properties, serviceId: Uuid, serviceName: Type.String() },
  'WorkspaceDeployment',
);
export type WorkspaceDeploymentView = Static<typeof WorkspaceDeploymentSchema>;
export const WorkspaceDeploymentListResponse = Strict({
  items: Type.Array(WorkspaceDeploymentSchema),
  page: PageSchema,
});
export const SnapshotResponse = Strict({
  snapshot: Strict({
    configuration: ServiceConfigurationSchema,
    variables: Nullable(
      Type.Array(Type.String(), { description: 'Names only; null if the deployment is older than this record' }),
    ),
  }),
});
const CanarySideSchema = Strict(
  {
    requests: Type.Integer(),
    errors: Type.Integer({ description: 'Answers of 5xx, also those of the edge, and answers that broke off' }),
    latencyP50: Nullable(Type.Number({ description: 'In milliseconds; null without answers' })),
    latencyP95: Nullable(Type.Number({ description: 'In milliseconds; null without answers' })),
    readyReplicas: Type.Integer(),
  },
  'CanarySide',
);
export type CanarySidePresentation = Static<typeof CanarySideSchema>;
const CanarySchema = Strict(
  {
    deploymentId: Uuid,
    previousDeploymentId: Uuid,
    percent: Type.Integer(),
    outcome: oneOf('CanaryOutcome', ['running', 'promoted', 'withdrawn']),
    reason: Type.String({ description: 'What was found at the end; empty before' }),
    begunAt: Timestamp,
    endsAt: Timestamp,
    endedAt: Nullable(Timestamp),
    new: CanarySideSchema,
    previous: CanarySideSchema,
  },
  'Canary',
);
export type CanaryPresentation = Static<typeof CanarySchema>;
export const CanaryResponse = Strict({ canary: Nullable(CanarySchema) });
export const PromoteResponse = Strict({ promoted: Type.Literal(true) });

export const CreateDeploymentBody = Strict({
  branch: PartialServiceConfigurationSchema.properties.branch,
  commitSha: Type.Optional(CommitSha),
  clearCache: Type.Optional(Type.Boolean({ description: 'Build without the caches of earlier builds' })),
});
export const CancelResponse = Strict({ cancelRequested: Type.Literal(true) });
