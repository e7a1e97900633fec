/** Only types are imported, so that `rnv` contains no server code. */
import type { Static } from 'typebox';
import type { MetricsResponse } from '../resources/metrics/routes.js';

export type { RuleView as Rule } from '../../shared/rules/model.js';
export type { AlertPresentation as Alert } from '../resources/alerts/routes.js';
export type { BackupView as Backup } from '../resources/backups/schema.js';
export type {
  DeploymentPresentation as Deployment,
  WorkspaceDeploymentView as WorkspaceDeployment,
} from '../resources/deployments/schema.js';
export type { DomainPresentation as Domain } from '../resources/domains/routes.js';
export type { DrainPresentation as Drain } from '../resources/drains/routes.js';
export type { EnvironmentPresentation as Environment } from '../resources/environments/schema.js';
export type { ApiKeyPresentation as ApiKey } from '../resources/keys/routes.js';
export type { LogBatchView as LogBatch, LogLineView as LogLine } from '../resources/logs/schema.js';
export type { OperationView as Operation } from '../resources/operations/schema.js';
export type { PreviewPresentation as Preview } from '../resources/previews/schema.js';
export type { ProjectPresentation as Project } from '../resources/projects/schema.js';
export type { RunView as Run } from '../resources/runs/schema.js';
export type { ServicePresentation as Service } from '../resources/services/schema.js';
export type { ImportFormat as StackImportFormat } from '../resources/stacks/import/import-file.js';
export type {
  ApplyDetail as StackApplyDetail,
  ApplyPresentation as StackApply,
  PlanPresentation as StackPlan,
} from '../resources/stacks/schema.js';
export type { TemplatePresentation as Template } from '../resources/stacks/templates/schema.js';
export type { TemplateSourceView as TemplateSource } from '../resources/template-sources/schema.js';
export type { VariablePresentation as Variable } from '../resources/variables/schema.js';
export type { VolumePresentation as Volume } from '../resources/volumes/routes.js';

export interface Workspace {
  id: string;
  name: string;
}

export type Metrics = Static<typeof MetricsResponse>['metrics'];
