import { queueDeployment } from '../../../shared/commands/queue-deployment.js';
import { queueAction } from '../../../shared/commands/queue-operation.js';
import { defineWrite } from '../../route.js';
import { loadDeployment } from '../deployments/load.js';
import { presentDeployment } from '../deployments/present.js';
import { presentOperation } from '../operations/present.js';
import { loadService } from '../services/load.js';
import { ActionBody, ActionResponse } from './schema.js';

/** Service actions (specification): runtime actions answer with an operation, deploying ones with a deployment. */
export const actionRoutes = [
  defineWrite({
    method: 'POST',
    path: '/workspaces/:workspaceId/services/:serviceId/actions',
    operation: 'service.action',
    summary: 'Queue restart, suspend, resume, deploy or clear-cache',
    body: ActionBody,
    response: ActionResponse,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, needEngine } = request;
      const service = await loadService(request);
      await needEngine();
      const { action } = body;
      if (action !== 'deploy' && action !== 'clear-cache') {
        const operation = await queueAction(trx, deps, { service, action, actor: caller.email });
        return { queued: true as const, operation: presentOperation(operation) };
      }
      const { id } = await queueDeployment(trx, deps, {
        service,
        actor: caller.email,
        trigger: action === 'deploy' ? 'manual' : 'clear-cache',
        clearCache: action === 'clear-cache',
        idempotency: receiptKey,
      });
      return { deployment: presentDeployment(await loadDeployment(trx, service.id, id)) };
    },
  }),
];
