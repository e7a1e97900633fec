import { CLIENT_PATHS } from '../../../shared/remote/model.js';
import { workspaceConfiguration } from '../../../shared/workspaces/model.js';
import { defineRoute } from '../../http/route.js';
import { lockService } from '../services/find-service.js';
import { LIVE_SERVICE_ERRORS } from '../services/lock-live-service.js';
import { prepareShell } from './commands.js';
import { presentOpening, ShellBody, ShellResponse } from './schema.js';

/** Shells in the replicas of a service. `api/remote` relays their data. */
export const shellRoutes = [
  defineRoute('POST', '/workspaces/:workspaceId/services/:serviceId/shells', 'shell.open', {
    summary: 'Open a shell',
    description:
      'Prepares a command beside a replica: in its namespaces, with its limits, its user and its variables. If the workspace records shells, the first line says so. A WebSocket at `address` starts it. Bytes are binary messages. Without a terminal, those to the client begin with a byte: 1 for output, 2 for error. Text messages to the platform are {"resize":{"columns":80,"rows":24}} and {"eof":true}, those to the client {"exit":0}; then it closes with 1000. It closes with 4401 when the key ends, with 4404 when the replica has ended, with 4408 after 15 idle minutes.',
    body: ShellBody,
    example: { columns: 80, rows: 24 },
    errors: [...LIVE_SERVICE_ERRORS, 'shell_limit'],
    response: ShellResponse,
    keyed: false,
    handler: async (request) => {
      const { deps, trx, caller, body, requestId, address, authorize, note, workspace } = request;
      const service = await lockService(request);
      const isRecorded = workspaceConfiguration(workspace.row.configuration).recordShells;
      const opener = { ...caller, requestId };
      const { session, ticket } = await prepareShell(trx, deps, { service, opener, body, isRecorded, authorize });
      note({ command: session.command, replica: session.replica_id, address, isRecorded });
      return { shell: presentOpening(session, deps.config, CLIENT_PATHS.shell + ticket) };
    },
  }),
];
