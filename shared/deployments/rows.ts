import { column } from '../core/database/prepared.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import type { DeploymentState, DeploymentTrigger, StepRecord } from './model.js';

/** The columns of `deployments` with their types as pg returns them. The migrations document them. */
const COLUMNS = {
  id: column<string>(),
  number: column<number>(),
  workspace_id: column<string>(),
  service_id: column<string>(),
  status: column<DeploymentState>(),
  trigger: column<DeploymentTrigger>(),
  actor: column<string>(),
  branch: column<string>(),
  commit_sha: column<string>(),
  commit_message: column<string>(),
  clear_cache: column<boolean>(),
  blocked_reason: column<string>(),
  error: column<string>(),
  cancel_requested_at: column<Date | null>(),
  source_deployment_id: column<string | null>(),
  configuration: column<ServiceConfiguration>(),
  snapshot_id: column<string | null>(),
  variable_names: column<string[] | null>(),
  sealed_repository: column<Buffer | null>(),
  image_id: column<string | null>(),
  steps: column<StepRecord[]>(),
  admitted_at: column<Date | null>(),
  together_id: column<string | null>(),
  traceparent: column<string | null>(),
  prepared_at: column<Date | null>(),
  went_live_at: column<Date | null>(),
  fence: column<number>(),
  worker_id: column<string | null>(),
  lease_expires_at: column<Date | null>(),
  takeovers: column<number>(),
  worker_faults: column<number>(),
  dispatches: column<number>(),
  due_at: column<Date | null>(),
  idempotency_key: column<string | null>(),
  idempotency_scope: column<string | null>(),
  created_at: column<Date>(),
  started_at: column<Date | null>(),
  finished_at: column<Date | null>(),
  updated_at: column<Date>(),
};

export type DeploymentRow = typeof COLUMNS;

export const DEPLOYMENT_COLUMNS = Object.keys(COLUMNS);
