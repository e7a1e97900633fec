import type { Step } from './model.js';

export const CHANGE_ACTIONS = ['create', 'update', 'delete', 'replace'] as const;
export const CHANGE_KINDS = ['service', 'database', 'variable', 'volume', 'group', 'domain'] as const;

/** A field of a resource that changes. `path` is a JSON pointer in the resource. Secret values are `***`. */
export interface FieldChange {
  path: string;
  from: unknown;
  to: unknown;
}

/** What happens to one resource. Variables and volumes are named `service.NAME`. */
export interface Change {
  action: (typeof CHANGE_ACTIONS)[number];
  kind: (typeof CHANGE_KINDS)[number];
  name: string;
  fields: FieldChange[];
}

export interface Plan {
  /** Equal plans of equal documents have equal hashes. */
  hash: string;
  /** True if a change deletes or replaces something. */
  destructive: boolean;
  changes: Change[];
  /** Services that the apply deploys, in the order of the document. */
  deploys: string[];
  /** True if they go live together. */
  together: boolean;
  /** Secrets, named `service.KEY`, whose values the apply must be given. */
  secrets: string[];
  warnings: string[];
  /** How an apply makes the changes. It has values of variables, so no answer shows it. */
  steps: Step[];
}

/** What is shown instead of the value of a variable. */
export const HIDDEN = '***';

/** Returns the changes of a field, or none if both values are equal. */
export function fieldChange(path: string, from: unknown, to: unknown): FieldChange[] {
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}
