import type { Transaction } from '../../../../shared/core/database/database-client.js';
import { AppError, conflict } from '../../../../shared/core/error-registry.js';
import { getDeployment } from '../../../../shared/deployments/store.js';
import type { Keyring } from '../../../../shared/secrets/keyring.js';
import type { StackRow } from '../../../../shared/stacks/model.js';
import { type Asked, assertIdle, recordApply } from '../../../../shared/stacks/record-apply.js';
import { assertSnapshotUsable } from '../../../../shared/variables/snapshots.js';
import { found } from '../../../http/assertions.js';
import { defineRoute } from '../../../http/route.js';
import { Strict, Uuid } from '../../../http/schema.js';
import { presentApply } from '../present.js';
import { ApplyResponse } from '../schema.js';
import { lockedStack } from '../stack-routes.js';
import { findApply } from '../store.js';
import { planRollback } from './plan-rollback.js';
import { readReleases } from './rollback-store.js';

interface RollbackRequest extends Asked {
  stack: StackRow;
  applyId: string;
}

/**
 * Accepts an apply that rolls a stack back to its releases after an earlier apply. If one release cannot be restored,
 * no service is rolled back. The caller must have locked the stack. Throws conflict if the earlier apply did not
 * succeed or a release cannot be restored. Also throws not_found, apply_running and forbidden.
 */
export async function acceptRollback(
  trx: Transaction,
  { keyring }: { keyring: Keyring },
  { stack, applyId, ...asked }: RollbackRequest,
): Promise<string> {
  const target = found(await findApply(trx, stack.id, applyId));
  await assertIdle(trx, stack);
  if (target.status !== 'succeeded')
    throw conflict(`Only an apply that succeeded can be gone back to: it ${target.status}`);
  const { steps, warnings, problems } = planRollback(await readReleases(trx, target));
  for (const { name, deploymentId } of steps) {
    const source = await getDeployment(trx, deploymentId);
    if (source === undefined) continue;
    const problem = await snapshotProblem(() => assertSnapshotUsable(trx, keyring, source, asked.authorize));
    if (problem !== null) problems.push(`${name}: ${problem}`);
  }
  if (problems.length > 0) throw conflict(`The stack cannot go back to this apply: ${problems.join('; ')}`);
  return recordApply(trx, keyring, {
    ...{ stack, asked, steps, together: true, rollback_of: target.id },
    plan: { changes: [], deploys: steps.map(({ name }) => name), warnings },
  });
}

/** Returns the message of the conflict that a check throws; null if it passes. Rethrows other errors. */
async function snapshotProblem(check: () => Promise<void>): Promise<string | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') return error.message;
    throw error;
  }
}

export const stackRollbackRoute = defineRoute(
  'POST',
  '/workspaces/:workspaceId/stacks/:stackName/rollback',
  'stack.rollback',
  {
    summary: 'Roll back a stack',
    description:
      'Brings back the releases that were live at the end of an earlier apply, all together or none, by an apply of its own. Databases, and services that were not live then, keep their releases.',
    errors: ['apply_running', 'conflict'],
    body: Strict({ applyId: Uuid }),
    response: ApplyResponse,
    engine: true,
    handler: async (request) => {
      const { trx, deps, caller, body, authorize, needEngine } = request;
      const stack = await lockedStack(request);
      const applyId = body.applyId.toLowerCase();
      const id = await acceptRollback(trx, deps, { stack, applyId, actor: caller.email, authorize, needEngine });
      return { apply: presentApply(found(await findApply(trx, stack.id, id))) };
    },
  },
);
