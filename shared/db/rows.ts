import type { ServiceConfiguration } from '../domain/configuration.js';
import type { DeploymentStatus, DeploymentTrigger, StepRecord } from '../domain/deployment.js';
import type { ImageManifest } from '../domain/image.js';
import type { LogLevel, LogLine, LogSource } from '../domain/log.js';
import type { OperationKind, OperationStatus } from '../domain/operation.js';
import type { ProjectColor } from '../domain/project.js';
import type { ReplicaDesire, ReplicaState } from '../domain/replica.js';
import type { KeyScope, Role } from '../domain/roles.js';
import type { HealthStatus, LifecycleStatus, ServiceKind } from '../domain/service.js';
import type { WorkspaceConfiguration } from '../domain/workspace.js';

/** One row of each table, as pg gives it to us. Column comments are in the migrations. */
export interface UserRow {
  id: string;
  email: string;
  password_hash: string | null;
  email_verified_at: Date | null;
  totp_sealed: Buffer | null;
  totp_confirmed_at: Date | null;
  totp_counter: number | null;
  verification_hash: Buffer | null;
  verification_expires_at: Date | null;
  created_at: Date;
}

export interface SessionRow {
  id: string;
  user_id: string;
  token_hash: Buffer;
  second_factor: boolean;
  created_at: Date;
  seen_at: Date;
  expires_at: Date;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  plan: string;
  configuration: Partial<WorkspaceConfiguration>;
  created_at: Date;
  updated_at: Date;
}

export interface MembershipRow {
  workspace_id: string;
  user_id: string;
  role: Role;
  created_at: Date;
}

export interface ApiKeyRow {
  id: string;
  workspace_id: string;
  user_id: string;
  name: string;
  scope: KeyScope;
  lookup: string;
  secret_hash: Buffer;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_at: Date;
}

export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  description: string;
  color: ProjectColor;
  created_at: Date;
  updated_at: Date;
}

export interface EnvironmentRow {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  protected: boolean;
  created_at: Date;
  updated_at: Date;
}

export interface ServiceRow {
  id: string;
  workspace_id: string;
  project_id: string | null;
  environment_id: string | null;
  name: string;
  slug: string;
  kind: ServiceKind;
  configuration: ServiceConfiguration;
  sealed_repository: Buffer | null;
  archived: boolean;
  lifecycle_status: LifecycleStatus;
  health_status: HealthStatus;
  health_checked_at: Date | null;
  runtime_detail: string;
  live_deployment_id: string | null;
  route_version: number;
  user_number: number;
  deletion_requested_at: Date | null;
  deleted_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export interface EnvironmentGroupRow {
  id: string;
  workspace_id: string;
  environment_id: string | null;
  name: string;
  created_at: Date;
  updated_at: Date;
}

export interface VariableRow {
  id: string;
  workspace_id: string;
  service_id: string | null;
  group_id: string | null;
  key: string;
  sealed: Buffer | null;
  reference_service_id: string | null;
  reference_key: string | null;
  created_at: Date;
  updated_at: Date;
}

export interface RegistryRow {
  id: string;
  workspace_id: string;
  name: string;
  server: string;
  username: string;
  sealed_password: Buffer;
  created_at: Date;
}

export interface DeploymentRow {
  id: string;
  number: number;
  workspace_id: string;
  service_id: string;
  status: DeploymentStatus;
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
  sealed_variables: Buffer;
  sealed_repository: Buffer | null;
  image_id: string | null;
  steps: StepRecord[];
  admitted_at: Date | null;
  went_live_at: Date | null;
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  takeovers: number;
  dispatches: number;
  idempotency_key: string | null;
  idempotency_scope: string | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  updated_at: Date;
}

export interface ImageRow {
  id: string;
  workspace_id: string;
  service_id: string;
  digest: string;
  manifest: ImageManifest;
  size_bytes: number;
  created_at: Date;
  removed_at: Date | null;
}

export interface OperationRow {
  id: string;
  workspace_id: string;
  service_id: string;
  kind: OperationKind;
  status: OperationStatus;
  actor: string;
  error: string;
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  dispatches: number;
  created_at: Date;
  updated_at: Date;
  finished_at: Date | null;
}

export interface WorkerRow {
  id: string;
  host: string;
  host_id: string;
  pid: number;
  version: string;
  queues: string[];
  deploy_slots: number;
  running: { queue: string; jobId: string; since: string }[];
  started_at: Date;
  seen_at: Date;
}

export interface ReplicaRow {
  id: string;
  service_id: string;
  deployment_id: string;
  host_id: string;
  generation: number;
  position: number;
  desired: ReplicaDesire;
  state: ReplicaState;
  address: string;
  port: number | null;
  pid: number | null;
  pid_started: string | null;
  restarts: number;
  exit_detail: string;
  next_start_at: Date | null;
  log_offset: number;
  task_id: string | null;
  log_since: string | null;
  ready_at: Date | null;
  started_at: Date | null;
  checked_at: Date | null;
  stopped_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export interface LogBatchRow {
  id: string;
  service_id: string;
  deployment_id: string | null;
  source: LogSource;
  lines: LogLine[];
  dispatches: number;
  created_at: Date;
}

export interface LogLineRow {
  service_id: string;
  id: number;
  deployment_id: string | null;
  source: LogSource;
  level: LogLevel;
  message: string;
  logged_at: Date;
}
