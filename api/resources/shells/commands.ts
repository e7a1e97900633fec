import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidField } from '../../../shared/core/error-registry.js';
import { MAX_SHELLS } from '../../../shared/remote/model.js';
import {
  countRemoteSessions,
  insertRemoteSession,
  lockRemoteSessions,
  type RemoteSessionRow,
} from '../../../shared/remote/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { newToken } from '../../../shared/secrets/random-token.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import type { Caller } from '../../http/api-deps.js';
import { lockLiveService } from '../services/lock-live-service.js';
import { assertEntered, findReachableReplica } from './replica-store.js';
import type { ShellInput } from './schema.js';

/** Kinds that have replicas. */
export const REACHABLE_KINDS: readonly ServiceKind[] = ['web', 'private', 'worker', 'cron', 'postgres', 'redis'];

/** Who opens a session. */
export type Opener = Pick<Caller, 'email' | 'userId' | 'kind' | 'credentialId'> & { requestId: string };

/** Returns the columns of a session that say who opened it. */
export function openedBy({ email, userId, kind, credentialId, requestId }: Opener) {
  return { actor: email, user_id: userId, credential: kind, credential_id: credentialId, request_id: requestId };
}

/**
 * Stores a shell that can be opened with the ticket. Throws shell_limit, invalid_request, not_found without such a replica, what
 * `lockLiveService` throws, and conflict if nothing of the service runs.
 */
export async function prepareShell(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, opener, body }: { service: Pick<ServiceRow, 'id'>; opener: Opener; body: ShellInput },
): Promise<{ session: RemoteSessionRow; ticket: string }> {
  const { command = null, columns = null, rows = null } = body;
  if ((columns === null) !== (rows === null)) throw invalidField(columns === null ? 'columns' : 'rows', 'is required');
  const service = await lockLiveService(trx, deps, { id, kinds: REACHABLE_KINDS, have: 'shells' });
  const { workspace_id } = service;
  await lockRemoteSessions(trx, workspace_id);
  const open = await countRemoteSessions(trx, 'shell', { workspaceId: workspace_id, serviceId: id });
  if (open.service >= MAX_SHELLS.service) throw tooMany(`The service has ${open.service} open shells`);
  if (open.workspace >= MAX_SHELLS.workspace) throw tooMany(`The workspace has ${open.workspace} open shells`);
  const replica = await findReachableReplica(trx, service, body.replica);
  await assertEntered(trx, replica.host_id);
  const { token, hash } = newToken();
  const session = await insertRemoteSession(
    trx,
    {
      kind: 'shell',
      workspace_id,
      service_id: id,
      replica_id: replica.id,
      host_id: replica.host_id,
      ...openedBy(opener),
      command,
      columns,
      rows,
      port: null,
    },
    hash,
  );
  return { session, ticket: token };
}

function tooMany(what: string): AppError {
  return new AppError('shell_limit', `${what}, as many as it may have; end one first`);
}
