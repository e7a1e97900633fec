import { conflict } from '../../../shared/core/error-registry.js';
import { promoteCanary, readCanary } from '../../../shared/deployments/canary-store.js';
import { queueDeployment, queueRollback, requestCancel } from '../../../shared/deployments/commands.js';
import { findDeployment, listDeployments, listWorkspaceDeployments } from '../../../shared/deployments/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute, type ReadRequest } from '../../http/route.js';
import { ConfirmBody, PageQuery } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { isHosted, presentConfiguration } from '../services/present.js';
import { presentCanary, presentDeployment } from './present.js';
import { QUEUE_ERRORS } from './queue-errors.js';
import {
  CanaryResponse,
  CancelResponse,
  CreateDeploymentBody,
  DeploymentListResponse,
  DeploymentResponse,
  PromoteResponse,
  SnapshotResponse,
  WorkspaceDeploymentListResponse,
  WorkspaceDeploymentQuery,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/deploys';
const ONE = '/workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId';

export const deploymentRoutes = [
  defineRoute('GET', '/workspaces/:workspaceId/deploys', 'deployment.list-workspace', {
    summary: 'List deployments of a workspace',
    description: 'The deployments of all services, newest first.',
    query: WorkspaceDeploymentQuery,
    response: WorkspaceDeploymentListResponse,
    handler: async (request) => {
      const { db, params, query } = request;
      const filter = { active: query.active === 'true' };
      const page = await listWorkspaceDeployments(db, params.workspaceId, filter, pageRequest(request));
      const items = page.items.map((row) => ({
        ...presentDeployment(row),
        serviceId: row.service_id,
        serviceName: row.service_name,
      }));
      return { items, page: presentPage(request, page) };
    },
  }),
  defineRoute('GET', COLLECTION, 'deployment.list', {
    summary: 'List deployments',
    description:
      'The deployments of a service, newest first. If hosting is disabled, the list is empty and reason says so.',
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
        reason: available ? '' : 'Hosting is disabled on this installation',
      };
    },
  }),
  defineRoute('POST', COLLECTION, 'deployment.create', {
    summary: 'Deploy a service',
    description:
      'Queues a deployment of the newest commit or of the given one, with the current configuration and variables of the service. ' +
      'A header traceparent (W3C Trace Context) becomes the parent of the trace that drains send.',
    errors: QUEUE_ERRORS,
    body: CreateDeploymentBody,
    example: { branch: 'main', clearCache: false },
    response: DeploymentResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, traceparent, authorize, needEngine } = request;
      const service = await lockService(request);
      needEngine();
      const queued = await queueDeployment(trx, deps, {
        service,
        locked: service,
        actor: caller.email,
        trigger: 'manual',
        branch: body.branch,
        commitSha: body.commitSha,
        clearCache: body.clearCache,
        traceparent,
        idempotency: receiptKey,
        authorize,
      });
      return { deployment: presentDeployment({ ...queued, can_rollback: false }) };
    },
  }),
  defineRoute('GET', ONE, 'deployment.read', {
    summary: 'Read a deployment',
    description: 'Status, steps and error of a deployment. The deployment has ended if finishedAt is not null.',
    response: DeploymentResponse,
    handler: async (request) => ({ deployment: presentDeployment(await readDeployment(request)) }),
  }),
  defineRoute('GET', `${ONE}/snapshot`, 'deployment.read-snapshot', {
    summary: 'Read the snapshot of a deployment',
    description: 'The configuration and the names of the variables with which the deployment was queued.',
    response: SnapshotResponse,
    handler: async (request) => {
      const { configuration, variable_names } = await readDeployment(request);
      return { snapshot: { configuration: presentConfiguration(configuration), variables: variable_names } };
    },
  }),
  defineRoute('POST', `${ONE}/cancel`, 'deployment.cancel', {
    summary: 'Cancel a deployment',
    description: 'Requests the cancellation: read the deployment until it has ended.',
    errors: ['deployment_terminal'],
    response: CancelResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      await requestCancel(request.trx, { serviceId: id, deploymentId: request.params.deploymentId });
      request.wakeDispatcher();
      return { cancelRequested: true } as const;
    },
  }),
  defineRoute('GET', `${ONE}/canary`, 'deployment.read-canary', {
    summary: 'Read the canary of a deployment',
    description:
      'The share of visitors who get the new release, and what the edges have counted on both sides. null if the deployment has had no canary.',
    response: CanaryResponse,
    handler: async (request) => {
      const canary = await readCanary(request.db, (await readDeployment(request)).id);
      return { canary: canary && presentCanary(canary) };
    },
  }),
  defineRoute('POST', `${ONE}/promote`, 'deployment.promote', {
    summary: 'Promote a canary',
    description:
      'Ends the canary of a deployment: all visitors get the new release. To send them back to the previous one, cancel the deployment.',
    errors: ['conflict'],
    response: PromoteResponse,
    handler: async (request) => {
      const { trx, params, caller } = request;
      const { id } = await lockService(request);
      const deployment = found(await findDeployment(trx, id, params.deploymentId));
      if (!(await promoteCanary(trx, deployment.id, `promoted by ${caller.email}`))) {
        throw conflict('No canary of this deployment is under way');
      }
      request.wakeDispatcher();
      return { promoted: true } as const;
    },
  }),
  defineRoute('POST', `${ONE}/rollback`, 'deployment.rollback', {
    summary: 'Roll back to a deployment',
    description:
      'Queues a deployment of the image, configuration and variables of an earlier deployment that went live. confirm is the name of the service.',
    errors: QUEUE_ERRORS,
    body: ConfirmBody,
    response: DeploymentResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, params, caller, body, receiptKey, traceparent, authorize, needEngine } = request;
      const service = await lockService(request);
      const source = found(await findDeployment(trx, service.id, params.deploymentId));
      assertConfirmed(body.confirm, service);
      needEngine();
      const { id } = await queueRollback(trx, deps, {
        service,
        source,
        actor: caller.email,
        traceparent,
        idempotency: receiptKey,
        authorize,
      });
      return { deployment: presentDeployment(found(await findDeployment(trx, service.id, id))) };
    },
  }),
];

async function readDeployment(request: ReadRequest<typeof ONE>) {
  const { id } = await readService(request);
  return found(await findDeployment(request.db, id, request.params.deploymentId));
}
