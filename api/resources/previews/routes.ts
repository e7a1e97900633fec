import { deleteService } from '../../../shared/lifecycle/commands.js';
import { hasInfrastructure } from '../../../shared/lifecycle/store.js';
import { findPreview, listPreviews } from '../../../shared/previews/store.js';
import { createPreview } from '../../../shared/pulls/preview-commands.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { QUEUE_ERRORS } from '../deployments/queue-errors.js';
import { presentOperation } from '../operations/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { DeleteServiceResponse } from '../services/schema.js';
import { CreatePreviewBody, PreviewListResponse, PreviewResponse, presentPreview } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/previews';
const ONE = '/workspaces/:workspaceId/services/:serviceId/previews/:previewId';

export const previewRoutes = [
  defineRoute('GET', COLLECTION, 'preview.list', {
    summary: 'List previews',
    description: "The service's previews, newest first.",
    query: PageQuery,
    response: PreviewListResponse,
    handler: async (request) => {
      const base = await readService(request);
      const page = await listPreviews(request.db, base.id, pageRequest(request));
      const previews = page.items.map((row) => presentPreview(row, base, request.deps.config));
      return { previews, page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'preview.create', {
    summary: 'Create a preview',
    description: 'Creates a service for another branch, and queues its first deployment.',
    errors: QUEUE_ERRORS,
    body: CreatePreviewBody,
    status: 201,
    response: PreviewResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, receiptKey, authorize, needEngine } = request;
      const base = await lockService(request);
      needEngine();
      const { service_id } = await createPreview(trx, deps, {
        base,
        branch: body.branch,
        actor: caller.email,
        trigger: 'create',
        idempotency: receiptKey,
        authorize,
      });
      return { preview: presentPreview(found(await findPreview(trx, base.id, service_id)), base, deps.config) };
    },
  }),
  defineRoute('GET', ONE, 'preview.read', {
    summary: 'Read a preview',
    description: 'URL, status and expiry of the preview.',
    response: PreviewResponse,
    handler: async (request) => {
      const { db, deps, params } = request;
      const base = await readService(request);
      return { preview: presentPreview(found(await findPreview(db, base.id, params.previewId)), base, deps.config) };
    },
  }),
  defineRoute('DELETE', ONE, 'preview.delete', {
    summary: 'Delete a preview',
    description: 'Deletes the preview at once if it never ran. Otherwise its deletion is queued.',
    errors: ['conflict'],
    response: DeleteServiceResponse,
    engine: true,
    handler: async (request) => {
      const { trx, params, caller, needEngine } = request;
      const base = await lockService(request);
      const service = found(await findPreview(trx, base.id, params.previewId));
      if (await hasInfrastructure(trx, service.id)) needEngine();
      const { deleted, queued, operation } = await deleteService(trx, { service, actor: caller.email });
      return { deleted, queued, operation: operation && presentOperation(operation) };
    },
  }),
];
