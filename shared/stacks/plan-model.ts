import type { Step } from './model.js';

export const CHANGE_ACTIONS = ['create', 'update', 'delete', 'replace'] as const;
export const CHANGE_KINDS = ['service', 'database', 'variable', 'volume', 'group', 'domain', 'rules'] as const;

/** A changed field of a resource. `path` is a JSON pointer into the resource. Secret values are shown as `***`. */
export interface FieldChange {
  path: string;
  from: unknown;
  to: unknown;
}

/** The change of one resource. Variables and volumes are named `service.NAME`. */
export interface Change {
  action: (typeof CHANGE_ACTIONS)[number];
  kind: (typeof CHANGE_KINDS)[number];
  name: string;
  fields: FieldChange[];
}

export interface Plan {
  /** Depends on the document, the changes and the services to deploy: identical plans have equal hashes. */
  hash: string;
  /** True if any change deletes or replaces something. */
  destructive: boolean;
  changes: Change[];
  /** Services that the apply deploys, in document order. */
  deploys: string[];
  /** True if the services go live together. */
  together: boolean;
  /** Secrets, named `service.KEY`, for which the apply must be given values. */
  secrets: string[];
  warnings: string[];
  /** The steps of the apply. They contain variables' values, so no response includes them. */
  steps: Step[];
}

/** Shown in place of a variable's value. */
export const HIDDEN = '***';

/** Returns the change of a field; an empty list if both values are equal. */
export function fieldChange(path: string, from: unknown, to: unknown): FieldChange[] {
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}
