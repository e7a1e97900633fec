import type { AuditEntry } from '../../shared/audit/store.js';
import type { OperationName } from '../../shared/identity/policy.js';
import type { Caller } from './api-deps.js';
import { NAME_PARAMETERS } from './endpoint.js';
import type { ApiContext } from './request-state.js';

const MAX_NAME_LENGTH = 200;

/** Builds the audit entry of a write. Copies only an id and a name from the bodies, so that no secret is stored. */
export function auditEntry(
  ctx: ApiContext,
  operation: OperationName,
  path: string,
  answer: unknown,
): AuditEntry | null {
  const { caller, workspace, requestId, input } = ctx.state;
  if (!workspace) return null;
  const ids = Object.entries(input.params).flatMap(([name, id]) =>
    name === 'workspaceId' || name in NAME_PARAMETERS ? [] : [id],
  );
  const { id, name } = targetOf(answer, path, ids.at(-1) ?? null);
  const { confirm } = input.body;
  return {
    workspace_id: workspace.row.id,
    ...actorOf(caller, requestId),
    operation,
    path: path.replace(`/workspaces/${workspace.row.id}`, '') || '/',
    target_id: id,
    // The handler has checked that `confirm` is the name.
    target_name: (name || (typeof confirm === 'string' ? confirm : '')).slice(0, MAX_NAME_LENGTH),
  };
}

/** Returns the columns that say who sent a request. */
export function actorOf(
  { email, userId, kind, credentialId }: Pick<Caller, 'email' | 'userId' | 'kind' | 'credentialId'>,
  requestId: string,
) {
  return { actor: email, user_id: userId, credential: kind, credential_id: credentialId, request_id: requestId };
}

interface Target {
  id: string | null;
  name: string;
}

/** Returns the record at the end of the path, or else the record in the response: `{ service: { id, name } }`. */
function targetOf(answer: unknown, path: string, lastId: string | null): Target {
  const shown = Object.values(answer ?? {}).find(
    (value): value is Record<string, unknown> => typeof value === 'object' && typeof value?.id === 'string',
  );
  const own = lastId !== null && path.endsWith(lastId);
  if (!shown || (own && shown.id !== lastId)) return { id: lastId, name: '' };
  const name = [shown.name, shown.key, shown.email, shown.hostname].find((value) => typeof value === 'string');
  return { id: String(shown.id), name: typeof name === 'string' ? name : '' };
}
