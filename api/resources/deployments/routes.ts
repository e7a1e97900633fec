import { queueDeployment, queueRollback, requestCancel } from '../../../shared/deployments/commands.js';
import { findDeployment, listDeployments, listWorkspaceDeployments } from '../../../shared/deployments/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { ConfirmBody, PageQuery } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { isHosted, presentConfiguration } from '../services/present.js';
import { presentDeployment } from './present.js';
import {
  CancelResponse,
  CreateDeploymentBody,
  DeploymentListResponse,
  DeploymentResponse,
  SnapshotResponse,
  WorkspaceDeploymentListResponse,
  WorkspaceDeploymentQuery,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/deploys';
const ONE = '/workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId';

export const deploymentRoutes = [
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/deploys',
    operation: 'deployment.list-workspace',
    summary: 'List the deployments of all services, newest first; with active, those that wait or run',
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
  defineRoute({
    method: 'GET',
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
        reason: available ? '' : 'Hosting is disabled on this installation',
      };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'deployment.create',
    summary: 'Queue a deployment',
    body: CreateDeploymentBody,
    response: DeploymentResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, authorize, needEngine } = request;
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
        idempotency: receiptKey,
        authorize,
      });
      return { deployment: presentDeployment({ ...queued, can_rollback: false }) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'deployment.read',
    summary: 'Read a deployment',
    response: DeploymentResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return {
        deployment: presentDeployment(found(await findDeployment(request.db, id, request.params.deploymentId))),
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${ONE}/snapshot`,
    operation: 'deployment.read-snapshot',
    summary: 'Read the configuration and the names of the variables that a deployment was queued with',
    response: SnapshotResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const { configuration, variable_names } = found(
        await findDeployment(request.db, id, request.params.deploymentId),
      );
      return { snapshot: { configuration: presentConfiguration(configuration), variables: variable_names } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/cancel`,
    operation: 'deployment.cancel',
    summary: 'Request the cancellation of a deployment; poll the deployment until it ends',
    response: CancelResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      await requestCancel(request.trx, { serviceId: id, deploymentId: request.params.deploymentId });
      request.wakeDispatcher();
      return { cancelRequested: true } as const;
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/rollback`,
    operation: 'deployment.rollback',
    summary: 'Queue a new deployment of an earlier release',
    body: ConfirmBody,
    response: DeploymentResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, params, caller, body, receiptKey, authorize, needEngine } = request;
      const service = await lockService(request);
      const source = found(await findDeployment(trx, service.id, params.deploymentId));
      assertConfirmed(body.confirm, service);
      needEngine();
      const { id } = await queueRollback(trx, deps, {
        service,
        source,
        actor: caller.email,
        idempotency: receiptKey,
        authorize,
      });
      return { deployment: presentDeployment(found(await findDeployment(trx, service.id, id))) };
    },
  }),
];
