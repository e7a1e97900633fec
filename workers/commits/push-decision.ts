import type { AppError } from '../../shared/core/error-registry.js';
import { escapeControls } from '../../shared/core/plain-text.js';
import type { Plan } from '../../shared/stacks/plan-model.js';

/** The stack document, in the root folder of the repository. */
export const STACK_FILE = 'ranvier.yaml';

const MAX_OUTCOME_LENGTH = 2000;

/** Returns why a push must not apply a plan; null if it may. */
export function reasonAgainstApply(
  { changes, secrets }: Pick<Plan, 'changes' | 'secrets'>,
  stack: string,
): string | null {
  const lost = changes.filter(({ action }) => action === 'delete' || action === 'replace');
  if (lost.length > 0) {
    const named = lost.map(({ action, kind, name }) => `${action}s ${kind} ${name}`).join(', ');
    return `the plan ${named}: look at it with rnv plan --stack ${stack}, and confirm it with rnv apply --stack ${stack}`;
  }
  if (secrets.length === 0) return null;
  const need = secrets.length === 1 ? 'needs' : 'need';
  return `${secrets.join(', ')} ${need} a value: give it with rnv apply --stack ${stack}`;
}

/** Returns the outcome text of a push whose stack document is not applied. */
export function notApplied(reason: string): string {
  return escapeControls(`${STACK_FILE} was not applied: ${reason}`).slice(0, MAX_OUTCOME_LENGTH);
}

/** Returns an error's text without values of variables, because all members can read outcomes. */
export function reasonOf({ message, details = [] }: AppError): string {
  const faults = details.map((detail) => detail.message);
  const rest = faults.filter((fault) => !message.endsWith(fault));
  return [message, ...rest].join('; ').replace(/(: put it in quotes), "[^"]*"/g, '$1');
}
