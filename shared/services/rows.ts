import type { ServiceConfiguration } from './configuration.js';
import type { HealthStatus, LifecycleStatus, ServiceKind } from './model.js';

/** Rows as pg gives them to us. Column comments are in the migrations. */
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
  /** How many replicas automatic scaling decided last (`wantedReplicas`). */
  scaled_replicas: number | null;
  route_version: number;
  user_number: number;
  deletion_requested_at: Date | null;
  deleted_at: Date | null;
  created_at: Date;
  updated_at: Date;
}
