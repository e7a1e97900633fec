import type { LeasedColumns } from '../engine/kind.js';
import type { RuleView } from '../rules/model.js';
import type { PartialServiceConfiguration } from '../services/configuration.js';
import type { ServiceKind } from '../services/model.js';
import type { VariableScope } from '../variables/model.js';
import type { ReferenceWish } from './wish.js';

export type StepContent = { value: string } | { reference: ReferenceWish } | { generate: number };

/** A service or group, by its name in the document. */
export type VariablesOwner = { service: string } | { group: string };

export interface StepCommit {
  branch: string;
  sha: string;
  once: boolean;
}

/**
 * One change, made in its own transaction. `service` and `group` are names in the document, because an earlier step may
 * still have to create the resource.
 */
export type Step =
  | { op: 'group.create'; group: string }
  | { op: 'service.create'; service: string; kind: ServiceKind; configuration: PartialServiceConfiguration }
  | { op: 'service.update'; service: string; name?: string; configuration: PartialServiceConfiguration }
  | { op: 'service.archive'; service: string; archived: boolean }
  | { op: 'volume.delete'; service: string; volume: string }
  | { op: 'volume.create'; service: string; volume: string; mountPath: string; sizeGb: number }
  | { op: 'volume.grow'; service: string; volume: string; sizeGb: number }
  | {
      op: 'variables.set';
      owner: VariablesOwner;
      set: { key: string; scope: VariableScope; content: StepContent }[];
      unset: string[];
    }
  | { op: 'groups.link'; service: string; groups: ({ group: string } | { groupId: string })[] }
  | { op: 'domain.delete'; service: string; hostname: string }
  | { op: 'domain.create'; service: string; hostname: string }
  | { op: 'domain.redirect'; service: string; hostname: string; redirectTo: string | null }
  | { op: 'rules.set'; service: string; rules: RuleView[] }
  | { op: 'service.deploy'; service: string; commit?: StepCommit }
  | { op: 'service.restore'; service: string; from: string; backupId: string }
  | { op: 'service.rollback'; serviceId: string; name: string; deploymentId: string }
  | { op: 'service.delete'; serviceId: string; name: string }
  | { op: 'group.delete'; groupId: string; name: string }
  | { op: 'stack.delete' };

/** Completes a sentence that begins with a service's name. */
export const VOLUME_APART =
  'has a volume, which one release at a time can use, so it cannot go live together with other services';

export const APPLY_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type ApplyStatus = (typeof APPLY_STATUSES)[number];

export const STEP_STATUSES = ['pending', 'done', 'failed'] as const;

/** The migrations document the columns. */
export interface ApplyRow extends LeasedColumns<ApplyStatus> {
  stack_id: string;
  actor: string;
  reads_protected: boolean;
  together: boolean;
  together_error: string;
  rollback_of: string | null;
  plan: { changes: unknown[]; deploys: string[]; warnings: string[] };
  sealed_steps: Buffer | null;
  cancel_requested_at: Date | null;
  started_at: Date | null;
}

export interface StepRow {
  apply_id: string;
  position: number;
  op: Step['op'];
  name: string;
  status: (typeof STEP_STATUSES)[number];
  error: string;
  resource_id: string | null;
  deployment_id: string | null;
  operation_id: string | null;
  finished_at: Date | null;
}

export interface StackRow {
  id: string;
  workspace_id: string;
  environment_id: string;
  name: string;
  sealed_document: Buffer | null;
  created_at: Date;
  updated_at: Date;
}

/** Returns the name of a step's resource, as shown in plans. */
export function stepName(step: Step): string {
  switch (step.op) {
    case 'group.create':
      return step.group;
    case 'volume.create':
    case 'volume.grow':
    case 'volume.delete':
      return `${step.service}.${step.volume}`;
    case 'variables.set':
      return 'service' in step.owner ? step.owner.service : step.owner.group;
    case 'domain.create':
    case 'domain.redirect':
    case 'domain.delete':
      return step.hostname;
    case 'service.rollback':
    case 'service.delete':
    case 'group.delete':
      return step.name;
    case 'stack.delete':
      return '';
    default:
      return step.service;
  }
}
