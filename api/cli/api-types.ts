/** The API's answers, from the schemas that validate them. Types only: the command line contains no server code. */
import type { Static } from 'typebox';
import type { MetricsResponse } from '../resources/metrics/schema.js';

export type { BackupView as Backup } from '../resources/backups/schema.js';
/** A deployment in the list of its workspace. */
export type {
  DeploymentPresentation as Deployment,
  WorkspaceDeploymentView as WorkspaceDeployment,
} from '../resources/deployments/schema.js';
export type { ApiKeyPresentation as ApiKey } from '../resources/keys/schema.js';
export type { LogBatchView as LogBatch, LogLineView as LogLine } from '../resources/logs/schema.js';
export type { OperationView as Operation } from '../resources/operations/schema.js';
export type { PreviewPresentation as Preview } from '../resources/previews/schema.js';
export type { RunView as Run } from '../resources/runs/schema.js';
export type { ServicePresentation as Service } from '../resources/services/schema.js';
export type { VariablePresentation as Variable } from '../resources/variables/schema.js';

export interface Workspace {
  id: string;
  name: string;
}

export type Metrics = Static<typeof MetricsResponse>['metrics'];
