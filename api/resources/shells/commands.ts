import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, invalidField } from '../../../shared/core/error-registry.js';
import { logDaysOf } from '../../../shared/logs/model.js';
import { MAX_SHELLS } from '../../../shared/remote/model.js';
import {
  countRemoteSessions,
  insertRemoteSession,
  lockRemoteSessions,
  type NewRemoteSession,
  type RemoteSessionRow,
} from '../../../shared/remote/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import { newToken } from '../../../shared/secrets/random-token.js';
import type { ServiceKind } from '../../../shared/services/model.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { thawReplicas } from '../../../shared/services/thaw.js';
import { assertVariablesPermitted } from '../../../shared/variables/snapshots.js';
import type { Caller } from '../../http/api-deps.js';
import { actorOf } from '../../http/audit-entry.js';
import type { WriteRequest } from '../../http/route.js';
import { lockLiveService } from '../services/lock-live-service.js';
import { assertEntered, findReachableReplica, type ReachableReplica } from './replica-store.js';
import type { ShellInput } from './schema.js';

/** Kinds of services that have replicas. */
export const REACHABLE_KINDS: readonly ServiceKind[] = ['web', 'private', 'worker', 'cron', 'postgres', 'redis'];

const DAY_MS = 86_400_000;

/** The user who opens a shell or tunnel, with the user's credential and the id of the request. */
export type Opener = Pick<Caller, 'email' | 'userId' | 'kind' | 'credentialId'> & { requestId: string };

type SessionInput = Pick<NewRemoteSession, 'kind'> &
  Partial<Pick<NewRemoteSession, 'command' | 'columns' | 'rows' | 'port' | 'recorded_until'>>;

/** Stores a shell or tunnel to a replica, on behalf of the user who opens it. Returns it with its secret ticket. */
export async function storeSession(
  trx: Transaction,
  {
    service,
    replica,
    opener,
  }: { service: Pick<ServiceRow, 'id' | 'workspace_id'>; replica: ReachableReplica; opener: Opener },
  { kind, command = null, columns = null, rows = null, port = null, recorded_until = null }: SessionInput,
): Promise<{ session: RemoteSessionRow; ticket: string }> {
  await thawReplicas(trx, service.id);
  const { token, hash } = newToken();
  const session = await insertRemoteSession(
    trx,
    {
      kind,
      workspace_id: service.workspace_id,
      service_id: service.id,
      replica_id: replica.id,
      host_id: replica.host_id,
      ...actorOf(opener, opener.requestId),
      command,
      columns,
      rows,
      port,
      recorded_until,
    },
    hash,
  );
  return { session, ticket: token };
}

interface ShellRequest {
  service: Pick<ServiceRow, 'id'>;
  opener: Opener;
  body: ShellInput;
  isRecorded: boolean;
  authorize: WriteRequest['authorize'];
}

/**
 * Stores a shell session, to be opened with the returned ticket. Throws shell_limit, invalid_request, and the errors of
 * `lockLiveService` and of `findReachableReplica`.
 */
export async function prepareShell(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, opener, body, isRecorded, authorize }: ShellRequest,
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
  await assertVariablesPermitted(trx, replica.deployment_id, authorize);
  // A recording is kept for as many days as a log line that is written under the service's current plan.
  const recorded_until = isRecorded ? new Date(Date.now() + logDaysOf(service.configuration.plan) * DAY_MS) : null;
  return storeSession(trx, { service, replica, opener }, { kind: 'shell', command, columns, rows, recorded_until });
}

function tooMany(what: string): AppError {
  return new AppError('shell_limit', `${what}, as many as it may have; end one first`);
}
