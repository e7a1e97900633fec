import { setArchived } from '../../../shared/commands/archive-service.js';
import { createService } from '../../../shared/commands/create-service.js';
import { deleteService } from '../../../shared/commands/delete-service.js';
import { updateService } from '../../../shared/commands/update-service.js';
import { hasInfrastructure } from '../../../shared/db/service-lifecycle.js';
import { listServiceViews } from '../../../shared/db/services.js';
import { assertConfirmed, ConfirmBody } from '../../confirmation.js';
import { asksForPage, pageRequestOrComplete, presentPage } from '../../pagination.js';
import { defineRead, defineWrite } from '../../route.js';
import { PageQuery } from '../../schema.js';
import { presentOperation } from '../operations/present.js';
import { loadService, readService } from './load.js';
import { presentService } from './present.js';
import {
  CreateServiceBody,
  DeleteServiceResponse,
  ServiceListResponse,
  ServiceResponse,
  UpdateServiceBody,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services';
const ONE = '/workspaces/:workspaceId/services/:serviceId';

export const serviceRoutes = [
  defineRead({
    path: COLLECTION,
    operation: 'service.list',
    summary: 'List the services, archived ones included',
    query: PageQuery,
    response: ServiceListResponse,
    handler: async (request) => {
      const page = await listServiceViews(request.db, request.params.workspaceId, pageRequestOrComplete(request));
      const services = page.items.map((row) => presentService(row, request.deps.config));
      return asksForPage(request.query) ? { services, page: presentPage(request, page) } : { services };
    },
  }),
  defineWrite({
    method: 'POST',
    path: COLLECTION,
    operation: 'service.create',
    summary: 'Create a service; with deploy, queue its first deployment too',
    body: CreateServiceBody,
    status: 201,
    response: ServiceResponse,
    handler: async ({ deps, trx, caller, params, body, receiptKey, authorize, needEngine }) => {
      const { deploy = false } = body;
      if (deploy) await needEngine();
      const { id } = await createService(trx, deps, {
        workspaceId: params.workspaceId,
        actor: caller.email,
        name: body.name,
        kind: body.kind,
        configuration: body.configuration ?? {},
        placement: { projectId: body.projectId ?? null, environmentId: body.environmentId ?? null },
        variables: body.variables ?? [],
        deploy,
        idempotency: receiptKey,
        authorize,
      });
      const service = await readService({ db: trx, params: { ...params, serviceId: id } });
      return { service: presentService(service, deps.config) };
    },
  }),
  defineRead({
    path: ONE,
    operation: 'service.read',
    summary: 'Read a service: its configuration and its runtime state',
    response: ServiceResponse,
    handler: async (request) => ({ service: presentService(await readService(request), request.deps.config) }),
  }),
  defineWrite({
    method: 'PATCH',
    path: ONE,
    operation: 'service.update',
    summary: 'Change fields of a service; nothing is deployed',
    body: UpdateServiceBody,
    response: ServiceResponse,
    handler: async (request) => {
      const { trx, deps, caller, body, authorize, needEngine } = request;
      const { id, project_id, environment_id } = await loadService(request);
      const { projectId = project_id, environmentId = environment_id } = body;
      const moves = body.projectId !== undefined || body.environmentId !== undefined;
      await updateService(trx, deps, {
        serviceId: id,
        actor: caller.email,
        name: body.name,
        kind: body.kind,
        configuration: body.configuration,
        placement: moves ? { projectId, environmentId } : undefined,
        authorize,
        needEngine,
      });
      return { service: presentService(await readService({ ...request, db: trx }), deps.config) };
    },
  }),
  defineWrite({
    method: 'POST',
    path: `${ONE}/archive`,
    operation: 'service.archive',
    summary: 'Archive a service: deployment is prevented, nothing is stopped',
    response: ServiceResponse,
    handler: async (request) => {
      const { id } = await loadService(request);
      await setArchived(request.trx, id, true);
      return { service: presentService(await readService({ ...request, db: request.trx }), request.deps.config) };
    },
  }),
  defineWrite({
    method: 'POST',
    path: `${ONE}/restore`,
    operation: 'service.restore',
    summary: 'Restore an archived service; nothing is deployed or resumed',
    response: ServiceResponse,
    handler: async (request) => {
      const { id } = await loadService(request);
      await setArchived(request.trx, id, false);
      return { service: presentService(await readService({ ...request, db: request.trx }), request.deps.config) };
    },
  }),
  defineWrite({
    method: 'DELETE',
    path: ONE,
    operation: 'service.delete',
    summary: 'Delete a service, or queue its deletion where it has runtime infrastructure',
    body: ConfirmBody,
    response: DeleteServiceResponse,
    handler: async (request) => {
      const { trx, caller, body, needEngine } = request;
      const service = await loadService(request);
      assertConfirmed(body.confirm, service);
      if (await hasInfrastructure(trx, service.id)) await needEngine();
      const { deleted, queued, operation } = await deleteService(trx, { service, actor: caller.email });
      return { deleted, queued, operation: operation && presentOperation(operation) };
    },
  }),
];
