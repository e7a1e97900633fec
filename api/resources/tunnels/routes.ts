import { CLIENT_PATHS } from '../../../shared/remote/model.js';
import { defineRoute } from '../../http/route.js';
import { lockService } from '../services/find-service.js';
import { LIVE_SERVICE_ERRORS } from '../services/lock-live-service.js';
import { presentOpening } from '../shells/present.js';
import { prepareTunnel } from './commands.js';
import { TunnelBody, TunnelResponse } from './schema.js';

/** Tunnels into the private networks of services. `api/remote` relays their data. */
export const tunnelRoutes = [
  defineRoute({
    method: 'POST',
    path: '/workspaces/:workspaceId/services/:serviceId/tunnels',
    operation: 'tunnel.open',
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
