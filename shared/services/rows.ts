import { column } from '../core/database/prepared.js';
import type { ServiceConfiguration } from './configuration.js';
import type { HealthStatus, LifecycleStatus, ServiceKind } from './model.js';

/** The columns of `services` with their types as pg returns them. The migrations document them. */
const COLUMNS = {
  id: column<string>(),
  workspace_id: column<string>(),
  project_id: column<string | null>(),
  environment_id: column<string | null>(),
  name: column<string>(),
  slug: column<string>(),
  kind: column<ServiceKind>(),
  configuration: column<ServiceConfiguration>(),
  sealed_repository: column<Buffer | null>(),
  archived: column<boolean>(),
  lifecycle_status: column<LifecycleStatus>(),
  health_status: column<HealthStatus>(),
  health_checked_at: column<Date | null>(),
  runtime_detail: column<string>(),
  live_deployment_id: column<string | null>(),
  /** The last decision of automatic scaling. */
  scaled_replicas: column<number | null>(),
  /** Null while the service is awake. */
  asleep_since: column<Date | null>(),
  last_asleep_since: column<Date | null>(),
  woke_at: column<Date | null>(),
  route_version: column<number>(),
  user_number: column<number>(),
  deletion_requested_at: column<Date | null>(),
  deleted_at: column<Date | null>(),
  created_at: column<Date>(),
  updated_at: column<Date>(),
};

export type ServiceRow = typeof COLUMNS;

export const SERVICE_COLUMNS = Object.keys(COLUMNS);
