import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, conflict } from '../../../shared/core/error-registry.js';
import { MAX_TUNNELS_OF_SERVICE } from '../../../shared/remote/model.js';
import { countRemoteSessions, lockRemoteSessions, type RemoteSessionRow } from '../../../shared/remote/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { lockLiveService } from '../services/lock-live-service.js';
import { type Opener, REACHABLE_KINDS, storeSession } from '../shells/commands.js';
import { findReachableReplica } from '../shells/replica-store.js';
import type { TunnelInput } from './schema.js';

/**
 * Stores a tunnel, to be used with the returned ticket. Throws port_closed if the replica listens on no port; not_found
 * if there is no such replica; errors of `lockLiveService`; conflict if no replica is running or too many of the
 * service's tunnels are in use.
 */
export async function prepareTunnel(
  trx: Transaction,
  deps: CommandDeps,
  { service: { id }, opener, body }: { service: Pick<ServiceRow, 'id'>; opener: Opener; body: TunnelInput },
): Promise<{ session: RemoteSessionRow; ticket: string }> {
  const service = await lockLiveService(trx, deps, { id, kinds: REACHABLE_KINDS, have: 'tunnels' });
  const { workspace_id } = service;
  await lockRemoteSessions(trx, workspace_id);
  const open = await countRemoteSessions(trx, 'tunnel', { workspaceId: workspace_id, serviceId: id });
  if (open.service >= MAX_TUNNELS_OF_SERVICE) {
    throw conflict(`${open.service} tunnels of the service are in use, as many as it may have; end one first`);
  }
  const replica = await findReachableReplica(trx, service, body.replica);
  if (replica.port === null) throw new AppError('port_closed');
  return storeSession(trx, { service, replica, opener }, { kind: 'tunnel', port: body.port ?? null });
}
