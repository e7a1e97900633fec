import { found } from '../../../http/assertions.js';
import { defineRoute } from '../../../http/route.js';
import { Strict, Uuid } from '../../../http/schema.js';
import { presentApply } from '../present.js';
import { ApplyResponse } from '../schema.js';
import { lockedStack } from '../stack-routes.js';
import { findApply } from '../store.js';
import { acceptRollback } from './accept-rollback.js';

/** Rolls a whole stack back. */
export const stackRollbackRoute = defineRoute({
  method: 'POST',
  path: '/workspaces/:workspaceId/stacks/:stackName/rollback',
  operation: 'stack.rollback',
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
});
