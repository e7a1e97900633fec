import { stringify } from 'yaml';
import type { STACK_RELEASES, StackDocument } from '../../../shared/stacks/document-schema.js';
import type { ApplyRow, StackRow, StepRow } from '../../../shared/stacks/model.js';
import type { Change, Plan } from '../../../shared/stacks/plan-model.js';
import { present } from '../../http/present.js';
import { type ApplyDetail, ApplySchema, type PlanPresentation, StackSchema, StepSchema } from './schema.js';

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

export function presentDocument({ document }: { document: StackDocument }, schemaUrl: string): string {
  return withSchema(stringify(document, { lineWidth: 0 }), schemaUrl);
}

/** Adds the URL of the schema, for editors, before the text of a document. */
export function withSchema(text: string, schemaUrl: string): string {
  return `# yaml-language-server: $schema=${schemaUrl}\n${text}`;
}

export function presentApply(row: ApplyRow) {
  return present(ApplySchema, row, { release: releaseOf(row.together) });
}

export function presentApplyDetail(row: ApplyRow, steps: readonly StepRow[]): ApplyDetail {
  const { changes, deploys, warnings } = row.plan;
  return {
    ...presentApply(row),
    changes: changes as Change[],
    deploys,
    warnings,
    steps: steps.map((step) => present(StepSchema, step)),
  };
}

export function presentStack(row: StackRow, lastApply: ApplyRow | undefined) {
  return present(StackSchema, row, { lastApply: lastApply === undefined ? null : presentApply(lastApply) });
}
