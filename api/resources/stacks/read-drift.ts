import type { Db } from '../../../shared/core/database/database-client.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { type Keyring, SealError } from '../../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../../shared/secrets/sealed-columns.js';
import { readEnvironmentState } from '../../../shared/stacks/environment-store.js';
import type { StackRow } from '../../../shared/stacks/model.js';
import { planStack } from '../../../shared/stacks/plan.js';
import type { Change } from '../../../shared/stacks/plan-model.js';
import type { StackWish } from '../../../shared/stacks/wish.js';

/** How an environment differs from the document of its stack. `warnings` says what could not be compared, and why. */
export interface Drift {
  drift: Change[];
  warnings: string[];
}

/** Compares an environment with the document of its stack's last apply. */
export async function readDrift(db: Db, keyring: Keyring, stack: StackRow): Promise<Drift> {
  const { id, workspace_id: workspaceId, environment_id: environmentId } = stack;
  try {
    const wish = openWish(keyring, stack);
    if (wish === null) return { drift: [], warnings: [] };
    const state = await readEnvironmentState(db, keyring, { workspaceId, environmentId });
    const { plan, problems } = planStack({ stackId: id, wish, state, values: {} });
    const texts = problems.map(({ path, message }) => `${path} ${message}`);
    return { drift: plan.changes, warnings: [...texts, ...plan.warnings] };
  } catch (error) {
    if (error instanceof AppError || error instanceof SealError) return { drift: [], warnings: [error.message] };
    throw error;
  }
}

/** Unseals the parsed document of a stack's last apply; null if there was none. Throws `SealError`. */
export function openWish(keyring: Keyring, { id, sealed_document: sealed }: StackRow): StackWish | null {
  return sealed === null ? null : (JSON.parse(openFrom(keyring, SEALED.stackDocument, id, sealed)) as StackWish);
}
