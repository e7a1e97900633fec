import { deleteService, setArchived } from '../../../shared/lifecycle/commands.js';
import { createService } from '../../../shared/lifecycle/create-service.js';
import { hasInfrastructure } from '../../../shared/lifecycle/store.js';
import { updateService } from '../../../shared/lifecycle/update-service.js';
import { assertNoPreview } from '../../../shared/pulls/preview-commands.js';
import { listServiceViews, lockServiceRow } from '../../../shared/services/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { asksForPage, pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute, type WriteRequest } from '../../http/route.js';
import { ConfirmBody, PageQuery } from '../../http/schema.js';
import { QUEUE_ERRORS } from '../deployments/queue-errors.js';
import { presentOperation } from '../operations/schema.js';
import { lockService, readService } from './find-service.js';
import { patchDirectly } from './patch-directly.js';
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
  defineRoute('GET', COLLECTION, 'service.list', {
    summary: 'List services',
    description:
      'Newest first, archived services included and previews left out. Without limit and cursor the list is complete and has no page.',
    query: PageQuery,
    response: ServiceListResponse,
    handler: async (request) => {
      const page = await listServiceViews(request.db, request.params.workspaceId, pageRequestOrComplete(request));
      const services = page.items.map((row) => presentService(row, request.deps.config));
      return asksForPage(request.query) ? { services, page: presentPage(request, page) } : { services };
    },
  }),
  defineRoute('POST', COLLECTION, 'service.create', {
    summary: 'Create a service',
    description:
      'Stores the configuration and the variables. If deploy is true, the first deployment is queued as well; if that is refused, nothing is stored.',
    errors: [...QUEUE_ERRORS],
    body: CreateServiceBody,
    example: {
      name: 'shop',
      kind: 'web',
      configuration: { repository: 'https://git.example.com/shop.git', port: 3000 },
      variables: [{ key: 'LOG_LEVEL', value: 'info' }],
      deploy: true,
    },
    status: 201,
    response: ServiceResponse,
    engine: true,
    handler: async ({ deps, trx, caller, params, body, receiptKey, authorize, needEngine }) => {
      const { deploy = false } = body;
      if (deploy) needEngine();
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
  defineRoute('GET', ONE, 'service.read', {
    summary: 'Read a service',
    description: 'Configuration and runtime state of the service.',
    response: ServiceResponse,
    handler: async (request) => ({ service: presentService(await readService(request), request.deps.config) }),
  }),
  defineRoute('PATCH', ONE, 'service.update', {
    summary: 'Update a service',
    description:
      'Changes the given fields; nothing is deployed. kind cannot change: only its current value is accepted. Settings of the edge and the number of replicas of a running service take effect at once, all others with the next deployment.',
    errors: ['conflict', 'billing_required', 'capacity_exceeded', 'volume_single_replica'],
    body: UpdateServiceBody,
    example: { configuration: { startCommand: 'node server.js', replicas: 2 } },
    response: ServiceResponse,
    direct: patchDirectly,
    engine: true,
    handler: async (request) => {
      const { trx, deps, params, caller, body, authorize, needEngine } = request;
      const moves = body.projectId !== undefined || body.environmentId !== undefined;
      // A move needs permission for both environments: `updateService` checks the new one, `lockService` the old one.
      const service = moves
        ? await lockService(request)
        : found(await lockServiceRow(trx, params.workspaceId, params.serviceId));
      authorize({ protectedEnvironment: service.environment_protected });
      assertNoPreview(service, 'the name and the configuration');
      const { projectId = service.project_id, environmentId = service.environment_id } = body;
      const updated = await updateService(trx, deps, {
        service,
        actor: caller.email,
        name: body.name,
        kind: body.kind,
        configuration: body.configuration,
        placement: moves ? { projectId, environmentId } : undefined,
        authorize,
        needEngine,
      });
      return { service: presentService(updated, deps.config) };
    },
  }),
  defineRoute('POST', `${ONE}/archive`, 'service.archive', {
    summary: 'Archive a service',
    description: 'Prevents deployments. Replicas that run are not stopped.',
    errors: ['conflict'],
    response: ServiceResponse,
    handler: (request) => archive(request, true),
  }),
  defineRoute('POST', `${ONE}/restore`, 'service.restore', {
    summary: 'Restore an archived service',
    description: 'Permits deployments again. Nothing is deployed or resumed.',
    errors: ['conflict'],
    response: ServiceResponse,
    handler: (request) => archive(request, false),
  }),
  defineRoute('DELETE', ONE, 'service.delete', {
    summary: 'Delete a service',
    description:
      'Deletes the service at once if it never ran. Otherwise its deletion is queued: read the operation until it has ended.',
    errors: ['conflict'],
    body: ConfirmBody,
    response: DeleteServiceResponse,
    engine: true,
    handler: async (request) => {
      const { trx, caller, body, needEngine } = request;
      const service = await lockService(request);
      assertConfirmed(body.confirm, service);
      if (await hasInfrastructure(trx, service.id)) needEngine();
      const { deleted, queued, operation } = await deleteService(trx, { service, actor: caller.email });
      return { deleted, queued, operation: operation && presentOperation(operation) };
    },
  }),
];

async function archive(request: WriteRequest<typeof ONE>, archived: boolean) {
  const { id } = await lockService(request);
  await setArchived(request.trx, id, archived);
  return { service: presentService(await readService({ ...request, db: request.trx }), request.deps.config) };
}
