import { queueDeployment } from '../../../shared/deployments/commands.js';
import { findDeployment } from '../../../shared/deployments/store.js';
import { queueAction } from '../../../shared/operations/commands.js';
import { found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { presentDeployment } from '../deployments/present.js';
import { QUEUE_ERRORS } from '../deployments/queue-errors.js';
import { presentOperation } from '../operations/present.js';
import { lockService } from '../services/find-service.js';
import { ActionBody, ActionResponse } from './schema.js';

/**
 * Actions on services (specification, Service actions). The response contains an operation if the action changes how a
 * service runs, and a deployment if it deploys.
 */
export const actionRoutes = [
  defineRoute({
    method: 'POST',
    path: '/workspaces/:workspaceId/services/:serviceId/actions',
    operation: 'service.action',
    summary: 'Restart, suspend, resume or deploy a service',
    description:
      'restart, suspend and resume answer with an operation, deploy and clear-cache (a deployment without caches) with a deployment.',
    errors: ['no_runtime', ...QUEUE_ERRORS],
    body: ActionBody,
    response: ActionResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, authorize, needEngine } = request;
      const service = await lockService(request);
      needEngine();
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
        authorize,
      });
      return { deployment: presentDeployment(found(await findDeployment(trx, service.id, id))) };
    },
  }),
];
