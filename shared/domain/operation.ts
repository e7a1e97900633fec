/** Operations: queued work on a service that is no deployment. queued → running → succeeded | failed. */
export const OPERATION_KINDS = ['restart', 'suspend', 'resume', 'delete', 'routing'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const OPERATION_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const RUNTIME_ACTIONS = ['restart', 'suspend', 'resume'] as const satisfies readonly OperationKind[];
export type RuntimeAction = (typeof RUNTIME_ACTIONS)[number];
