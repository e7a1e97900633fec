import { Type } from 'typebox';
import { queueDeployment } from '../../../shared/deployments/commands.js';
import { findDeployment } from '../../../shared/deployments/store.js';
import { queueAction } from '../../../shared/operations/commands.js';
import { RUNTIME_ACTIONS } from '../../../shared/operations/model.js';
import { found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { oneOf, Strict } from '../../http/schema.js';
import { presentDeployment } from '../deployments/present.js';
import { QUEUE_ERRORS } from '../deployments/queue-errors.js';
import { DeploymentResponse } from '../deployments/schema.js';
import { OperationSchema, presentOperation } from '../operations/schema.js';
import { lockService } from '../services/find-service.js';

const ActionBody = Strict({ action: oneOf('ServiceAction', [...RUNTIME_ACTIONS, 'deploy', 'clear-cache']) });
const ActionResponse = Type.Union([
  Strict({ queued: Type.Literal(true), operation: OperationSchema }),
  DeploymentResponse,
]);

/** Actions on services (specification, Service actions). Responses contain an operation or a deployment. */
export const actionRoutes = [
  defineRoute('POST', '/workspaces/:workspaceId/services/:serviceId/actions', 'service.action', {
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
