import { queueDeployment } from '../../../shared/commands/queue-deployment.js';
import { queueRollback } from '../../../shared/commands/queue-rollback.js';
import { requestCancel } from '../../../shared/commands/request-cancel.js';
import { listDeployments } from '../../../shared/db/deployment-views.js';
import { isHosted, unavailableReason } from '../../availability.js';
import { assertConfirmed, ConfirmBody } from '../../confirmation.js';
import { pageRequest, presentPage } from '../../pagination.js';
import { defineRead, defineWrite } from '../../route.js';
import { PageQuery } from '../../schema.js';
import { loadService, readService } from '../services/load.js';
import { loadDeployment } from './load.js';
import { presentDeployment } from './present.js';
import { CancelResponse, CreateDeploymentBody, DeploymentListResponse, DeploymentResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/deploys';
const ONE = '/workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId';

export const deploymentRoutes = [
  defineRead({
    path: COLLECTION,
    operation: 'deployment.list',
    summary: "List a service's deployments, newest first",
    query: PageQuery,
    response: DeploymentListResponse,
    handler: async (request) => {
      const service = await readService(request);
      const available = isHosted(request.deps.config, service);
      const wanted = pageRequest(request);
      const page = available ? await listDeployments(request.db, service.id, wanted) : { items: [], hasMore: false };
      return {
        available,
        items: page.items.map(presentDeployment),
        page: presentPage(request, page),
        reason: unavailableReason(available),
      };
    },
  }),
  defineWrite({
    method: 'POST',
    path: COLLECTION,
    operation: 'deployment.create',
    summary: 'Queue a deployment',
    body: CreateDeploymentBody,
    response: DeploymentResponse,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, needEngine } = request;
      const service = await loadService(request);
      await needEngine();
      const { id } = await queueDeployment(trx, deps, {
        service,
        actor: caller.email,
        trigger: 'manual',
        branch: body.branch,
        commitSha: body.commitSha,
        clearCache: body.clearCache,
        idempotency: receiptKey,
      });
      return { deployment: presentDeployment(await loadDeployment(trx, service.id, id)) };
    },
  }),
  defineRead({
    path: ONE,
    operation: 'deployment.read',
    summary: 'Read a deployment',
    response: DeploymentResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { deployment: presentDeployment(await loadDeployment(request.db, id, request.params.deploymentId)) };
    },
  }),
  defineWrite({
    method: 'POST',
    path: `${ONE}/cancel`,
    operation: 'deployment.cancel',
    summary: 'Request the cancellation of a deployment; poll it for its end',
    response: CancelResponse,
    handler: async (request) => {
      const { id } = await loadService(request);
      await requestCancel(request.trx, { serviceId: id, deploymentId: request.params.deploymentId });
      request.wakeDispatcher();
      return { cancelRequested: true } as const;
    },
  }),
  defineWrite({
    method: 'POST',
    path: `${ONE}/rollback`,
    operation: 'deployment.rollback',
    summary: 'Queue a new deployment of an earlier release',
    body: ConfirmBody,
    response: DeploymentResponse,
    handler: async (request) => {
      const { deps, trx, params, caller, body, receiptKey, needEngine } = request;
      const service = await loadService(request);
      const source = await loadDeployment(trx, service.id, params.deploymentId);
      assertConfirmed(body.confirm, service);
      await needEngine();
      const { id } = await queueRollback(trx, deps, {
        service,
        source,
        actor: caller.email,
        idempotency: receiptKey,
      });
      return { deployment: presentDeployment(await loadDeployment(trx, service.id, id)) };
    },
  }),
];
