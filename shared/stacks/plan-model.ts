import type { Step } from './model.js';

export const CHANGE_ACTIONS = ['create', 'update', 'delete', 'replace'] as const;
export const CHANGE_KINDS = ['service', 'database', 'variable', 'volume', 'group', 'domain', 'rules'] as const;

/** `path` is a JSON pointer into the resource. Secret values are shown as `***`. */
export interface FieldChange {
  path: string;
  from: unknown;
  to: unknown;
}

/** Variables and volumes are named `service.NAME`. */
export interface Change {
  action: (typeof CHANGE_ACTIONS)[number];
  kind: (typeof CHANGE_KINDS)[number];
  name: string;
  fields: FieldChange[];
}

export interface Plan {
  /** Identical plans have equal hashes. */
  hash: string;
  destructive: boolean;
  changes: Change[];
  /** In document order. */
  deploys: string[];
  together: boolean;
  /** Secrets, named `service.KEY`, for which the apply needs values. */
  secrets: string[];
  warnings: string[];
  /** Contain variables' values, so no response includes them. */
  steps: Step[];
}

export const HIDDEN = '***';

/** Returns the change of a field; an empty list if both values are equal. */
export function fieldChange(path: string, from: unknown, to: unknown): FieldChange[] {
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}
