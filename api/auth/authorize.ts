import { validate as isUuid } from 'uuid';
import { AppError } from '../../shared/core/error-registry.js';
import { type AccessFacts, type OperationName, POLICIES, type Policy, refusal } from '../../shared/identity/policy.js';
import { findWorkspaceAccess } from '../../shared/identity/store.js';
import { DEFAULT_WORKSPACE_CONFIGURATION, type WorkspaceConfiguration } from '../../shared/workspaces/model.js';
import type { ApiDeps } from '../http/api-deps.js';
import type { ApiStep } from '../http/request-state.js';

/** Finds the workspace in the path and applies the operation's policy (specification, Authentication). */
export function authorize({ db, config }: ApiDeps, operation: OperationName): ApiStep {
  return async (ctx) => {
    const { caller } = ctx.state;
    const workspaceId: string | undefined = ctx.params.workspaceId?.toLowerCase();
    if (workspaceId === undefined) {
      ctx.state.workspace = null;
      return;
    }
    const foreign = caller.workspaceId !== null && caller.workspaceId !== workspaceId;
    if (foreign || !isUuid(workspaceId)) throw new AppError('not_found');
    const { found } = ctx.state;
    const row = found ? found.workspace : await findWorkspaceAccess(db, workspaceId, caller.userId);
    // The response must not reveal that the workspace exists.
    if (!row || (row.role === null && caller.kind === 'session')) throw new AppError('not_found');
    if (row.needs_provider === true && caller.byPassword) throw refusedPassword(config.oidc);
    const facts: AccessFacts = {
      role: row.role,
      scope: caller.scope,
      withKey: caller.kind === 'key',
      emailVerified: caller.emailVerified,
      mfaMissing: isMfaMissing(row.configuration, caller.secondFactor),
    };
    assertPermitted(operation, facts);
    if (row.role === null) throw new AppError('not_found');
    ctx.state.workspace = { row, role: row.role, facts };
  };
}

function refusedPassword(provider: ApiDeps['config']['oidc']): AppError {
  const how = provider ? `sign out, and sign in with ${provider.name}` : 'the operator can allow passwords again';
  return new AppError('forbidden', `This workspace is closed to sessions with a password: ${how}`);
}

/** Returns true if the workspace requires a second factor and the caller lacks it. */
export function isMfaMissing(stored: Partial<WorkspaceConfiguration>, secondFactor: boolean): boolean {
  return (stored.requireMfa ?? DEFAULT_WORKSPACE_CONFIGURATION.requireMfa) && !secondFactor;
}

/** Throws the policy's error if the caller may not perform the operation. */
export function assertPermitted(operation: OperationName, facts: AccessFacts): void {
  const code = refusal(operation, facts);
  if (!code) return;
  const { sessionOnly }: Policy = POLICIES[operation];
  if (code === 'forbidden' && sessionOnly && facts.withKey) throw new AppError(code, 'A key cannot do this: sign in');
  throw new AppError(code);
}
