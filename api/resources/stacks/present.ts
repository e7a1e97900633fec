import { stringify } from 'yaml';
import type { STACK_RELEASES, StackDocument } from '../../../shared/stacks/document-schema.js';
import type { ApplyRow, StackRow, StepRow } from '../../../shared/stacks/model.js';
import type { Change, Plan } from '../../../shared/stacks/plan-model.js';
import type { ApplyDetail, ApplyPresentation, PlanPresentation, StackPresentation } from './schema.js';

/** Presents a plan without its steps, which contain values of variables. */
export function presentPlan({
  hash,
  destructive,
  changes,
  deploys,
  together,
  secrets,
  warnings,
}: Plan): PlanPresentation {
  return { hash, destructive, changes, deploys, release: releaseOf(together), secrets, warnings };
}

function releaseOf(together: boolean): (typeof STACK_RELEASES)[number] {
  return together ? 'together' : 'separate';
}

/** Formats a document as YAML, with the URL of its schema for editors. */
export function presentDocument({ document }: { document: StackDocument }, schemaUrl: string): string {
  return withSchema(stringify(document, { lineWidth: 0 }), schemaUrl);
}

/** Adds the URL of the schema, for editors, before the text of a document. */
export function withSchema(text: string, schemaUrl: string): string {
  return `# yaml-language-server: $schema=${schemaUrl}\n${text}`;
}

export function presentApply(row: ApplyRow): ApplyPresentation {
  return {
    id: row.id,
    status: row.status,
    release: releaseOf(row.together),
    rollbackOf: row.rollback_of,
    error: row.error,
    actor: row.actor,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}

export function presentApplyDetail(row: ApplyRow, steps: readonly StepRow[]): ApplyDetail {
  const { changes, deploys, warnings } = row.plan;
  return {
    ...presentApply(row),
    changes: changes as Change[],
    deploys,
    warnings,
    steps: steps.map((step) => ({
      op: step.op,
      name: step.name,
      status: step.status,
      error: step.error,
      resourceId: step.resource_id,
      deploymentId: step.deployment_id,
      operationId: step.operation_id,
      finishedAt: step.finished_at?.toISOString() ?? null,
    })),
  };
}

export function presentStack(row: StackRow, lastApply: ApplyRow | undefined): StackPresentation {
  return {
    id: row.id,
    name: row.name,
    environmentId: row.environment_id,
    lastApply: lastApply === undefined ? null : presentApply(lastApply),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
