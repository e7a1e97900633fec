/** Operations: queued work on a service that is no deployment. queued → running → succeeded | failed. */
export const OPERATION_KINDS = ['restart', 'suspend', 'resume', 'delete', 'routing', 'restore'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const OPERATION_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const RUNTIME_ACTIONS = ['restart', 'suspend', 'resume'] as const satisfies readonly OperationKind[];
export type RuntimeAction = (typeof RUNTIME_ACTIONS)[number];

/** Rows as pg gives them to us. Column comments are in the migrations. */
export interface OperationRow {
  id: string;
  workspace_id: string;
  service_id: string;
  /** What an operation of kind `restore` restores. */
  backup_id: string | null;
  kind: OperationKind;
  status: OperationStatus;
  actor: string;
  error: string;
  fence: number;
  worker_id: string | null;
  lease_expires_at: Date | null;
  dispatches: number;
  due_at: Date | null;
  created_at: Date;
  updated_at: Date;
  finished_at: Date | null;
}
