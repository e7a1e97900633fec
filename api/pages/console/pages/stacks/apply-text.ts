import type { Schemas } from '../../api/types.js';
import type { Tone } from '../../ui/tone.js';

type Apply = Schemas['StackApply'];
type Step = Schemas['StackStep'];

const STEP_TEXT: Readonly<Record<string, string>> = {
  'group.create': 'Create group',
  'group.delete': 'Delete group',
  'groups.link': 'Link groups to',
  'service.create': 'Create service',
  'service.update': 'Change service',
  'service.archive': 'Archive or restore service',
  'service.deploy': 'Deploy',
  'service.rollback': 'Roll back',
  'service.delete': 'Delete service',
  'volume.create': 'Create volume',
  'volume.grow': 'Grow volume',
  'volume.delete': 'Delete volume',
  'variables.set': 'Set variables of',
  'domain.create': 'Add domain',
  'domain.redirect': 'Redirect domain',
  'domain.delete': 'Remove domain',
  'stack.delete': 'Forget the stack',
};

export interface StepRow {
  step: Step;
  text: string;
  tone: Tone;
  state: string;
}

export function stepRows(steps: readonly Step[], status: Apply['status']): StepRow[] {
  const next = status === 'running' ? steps.findIndex((step) => step.status === 'pending') : -1;
  return steps.map((step, index) => ({ step, text: STEP_TEXT[step.op] ?? step.op, ...stateOf(step, index === next) }));
}

function stateOf({ status }: Step, isNext: boolean): { tone: Tone; state: string } {
  if (status === 'done') return { tone: 'good', state: 'done' };
  if (status === 'failed') return { tone: 'bad', state: 'failed' };
  return isNext ? { tone: 'busy', state: 'running' } : { tone: 'plain', state: 'not started' };
}

export function changesTitle(changes: number, deploys: number, isRollback: boolean): string {
  if (changes > 0) return 'What it changes';
  if (isRollback) return 'What it brings back';
  return deploys > 0 ? 'What it deploys' : 'Nothing was to change';
}

export function applyText({ actor, error, rollbackOf }: Apply): string {
  if (error !== '') return error.split('\n')[0] ?? '';
  return `${rollbackOf === null ? 'Applied' : 'Rolled back'} by ${actor}`;
}

/** With warnings, the comparison may be incomplete, so the text does not promise that there is no drift. */
export function driftStatus(drift: number, warnings: number): { tone: Tone; text: string } {
  if (drift > 0) return { tone: 'warn', text: drift === 1 ? '1 change of drift' : `${drift} changes of drift` };
  return warnings > 0 ? { tone: 'plain', text: 'No drift seen' } : { tone: 'good', text: 'No drift' };
}

/** The cause of drift is the last apply if it did not succeed, and otherwise a change by hand. */
export function driftReason(last: Apply | null): string {
  if (last?.status === 'failed' || last?.status === 'cancelled') {
    return 'The last apply did not do everything. An apply of the same document would change this:';
  }
  return 'The environment was changed by hand. An apply of the same document would change this back:';
}
