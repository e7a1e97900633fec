import { type Static, Type } from 'typebox';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import { AppError, conflict } from '../../../shared/core/error-registry.js';
import { CLIENT_PATHS, MAX_TUNNELS_OF_SERVICE } from '../../../shared/remote/model.js';
import { countRemoteSessions, lockRemoteSessions, type RemoteSessionRow } from '../../../shared/remote/store.js';
import type { CommandDeps } from '../../../shared/secrets/command-deps.js';
import type { ServiceRow } from '../../../shared/services/rows.js';
import { defineRoute } from '../../http/route.js';
import { described, Strict, Uuid } from '../../http/schema.js';
import { lockService } from '../services/find-service.js';
import { LIVE_SERVICE_ERRORS, lockLiveService } from '../services/lock-live-service.js';
import { type Opener, REACHABLE_KINDS, storeSession } from '../shells/commands.js';
import { findReachableReplica } from '../shells/replica-store.js';
import { OpeningSchema, presentOpening } from '../shells/schema.js';

/**
 * Stores a tunnel. Throws port_closed if the replica listens on no port, and conflict if too many tunnels are in use.
 * Also throws the errors of `lockLiveService` and of `findReachableReplica`.
 */
async function prepareTunnel(
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

const TunnelBody = Strict({
  port: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, description: 'By default the one on which the service listens' }),
  ),
  replica: Type.Optional(described(Uuid, 'A replica or a run; by default a ready replica of the live release')),
});
type TunnelInput = Static<typeof TunnelBody>;

const TunnelResponse = Strict({ tunnel: Strict(OpeningSchema, 'Tunnel') });

/** Tunnels into the private networks of services. `api/remote` relays their data. */
export const tunnelRoutes = [
  defineRoute('POST', '/workspaces/:workspaceId/services/:serviceId/tunnels', 'tunnel.open', {
    summary: 'Open a tunnel',
    description:
      'Prepares connections to a port of a replica. Each WebSocket at `address` is one TCP connection, at most 50 at a time. Bytes are binary messages; the text message {"eof":true} ends one direction. A WebSocket closes with 1000 after both directions, with 4401 when the key ends, with 4404 if nothing listens on the port.',
    body: TunnelBody,
    example: { port: 5432 },
    errors: [...LIVE_SERVICE_ERRORS, 'port_closed'],
    response: TunnelResponse,
    keyed: false,
    handler: async (request) => {
      const { deps, trx, caller, body, requestId, address, note } = request;
      const service = await lockService(request);
      const { session, ticket } = await prepareTunnel(trx, deps, { service, opener: { ...caller, requestId }, body });
      note({ port: session.port, replica: session.replica_id, address });
      return { tunnel: presentOpening(session, deps.config, CLIENT_PATHS.tunnel + ticket) };
    },
  }),
];
