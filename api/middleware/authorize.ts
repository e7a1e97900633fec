import { validate as isUuid } from 'uuid';
import { findWorkspaceAccess } from '../../shared/db/access.js';
import { type AccessFacts, type OperationName, refusal } from '../../shared/domain/policy.js';
import { DEFAULT_WORKSPACE_CONFIGURATION } from '../../shared/domain/workspace.js';
import { AppError } from '../../shared/errors.js';
import type { ApiDeps } from '../context.js';
import type { Route } from '../route.js';
import type { ApiMiddleware } from '../state.js';

/** Opens the workspace of the path to the caller and asks the policy table (specification, Authentication). */
export function authorize({ db }: ApiDeps, route: Route): ApiMiddleware {
  return async (ctx, next) => {
    const { caller } = ctx.state;
    const workspaceId: string | undefined = ctx.params.workspaceId?.toLowerCase();
    if (workspaceId === undefined) {
      ctx.state.workspace = null;
      return next();
    }
    const foreign = caller.workspaceId !== null && caller.workspaceId !== workspaceId;
    if (foreign || !isUuid(workspaceId)) throw new AppError('not_found');
    const row = await findWorkspaceAccess(db, workspaceId, caller.userId);
    // A key names its workspace and so knows that it exists; a session must not find out about others'.
    if (!row || (row.role === null && caller.kind === 'session')) throw new AppError('not_found');
    const requireMfa = row.configuration.requireMfa ?? DEFAULT_WORKSPACE_CONFIGURATION.requireMfa;
    const facts: AccessFacts = {
      role: row.role,
      scope: caller.scope,
      emailVerified: caller.emailVerified,
      mfaMissing: requireMfa && !caller.secondFactor,
    };
    assertPermitted(route.operation, facts);
    if (row.role === null) throw new AppError('not_found');
    ctx.state.workspace = { row, role: row.role, facts };
    return next();
  };
}

/** Throws the policy table's refusal. */
export function assertPermitted(operation: OperationName, facts: AccessFacts): void {
  const code = refusal(operation, facts);
  if (code) throw new AppError(code);
}
