import type { ServiceConfiguration } from '../services/configuration.js';
import type { DeploymentState, DeploymentTrigger, StepRecord } from './model.js';

/** The rows of this subject's tables as pg returns them. The migrations explain the columns. */
export interface DeploymentRow {
  id: string;
  number: number;
  workspace_id: string;
  service_id: string;
  status: DeploymentState;
  trigger: DeploymentTrigger;
  actor: string;
  branch: string;
  commit_sha: string;
  commit_message: string;
  clear_cache: boolean;
  blocked_reason: string;
  error: string;
  cancel_requested_at: Date | null;
  source_deployment_id: string | null;
  configuration: ServiceConfiguration;
  snapshot_id: string | null;
  variable_names: string[] | null;
  sealed_repository: Buffer | null;
  image_id: string | null;
  steps: StepRecord[];
  admitted_at: Date | null;
  went_live_at: Date | null;
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  takeovers: number;
  worker_faults: number;
  dispatches: number;
  due_at: Date | null;
  idempotency_key: string | null;
  idempotency_scope: string | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  updated_at: Date;
}

/** The columns of a deployment, for prepared statements. */
export const DEPLOYMENT_COLUMNS = [
  'id',
  'number',
  'workspace_id',
  'service_id',
  'status',
  'trigger',
  'actor',
  'branch',
  'commit_sha',
  'commit_message',
  'clear_cache',
  'blocked_reason',
  'error',
  'cancel_requested_at',
  'source_deployment_id',
  'configuration',
  'snapshot_id',
  'variable_names',
  'sealed_repository',
  'image_id',
  'steps',
  'admitted_at',
  'went_live_at',
  'fence',
  'worker_id',
  'lease_expires_at',
  'takeovers',
  'worker_faults',
  'dispatches',
  'due_at',
  'idempotency_key',
  'idempotency_scope',
  'created_at',
  'started_at',
  'finished_at',
  'updated_at',
] as const satisfies readonly (keyof DeploymentRow)[];
