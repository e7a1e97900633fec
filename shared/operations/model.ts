import type { LeasedColumns } from '../engine/kind.js';

/** Work on a service that is not a deployment. */
export const OPERATION_KINDS = ['restart', 'suspend', 'resume', 'delete', 'routing', 'restore'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const OPERATION_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const RUNTIME_ACTIONS = ['restart', 'suspend', 'resume'] as const satisfies readonly OperationKind[];
export type RuntimeAction = (typeof RUNTIME_ACTIONS)[number];

export interface OperationRow extends LeasedColumns<OperationStatus> {
  service_id: string;
  backup_id: string | null;
  kind: OperationKind;
  actor: string;
}
