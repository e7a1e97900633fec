import { findOperation, listOperations } from '../../../shared/operations/store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { readService } from '../services/find-service.js';
import { OperationListResponse, OperationResponse, presentOperation } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/operations';

/** The operations of a deleted service can still be read, because its deletion is one of them. */
export const operationRoutes = [
  defineRoute('GET', COLLECTION, 'operation.list', {
    summary: 'List operations',
    description: 'The operations of a service, newest first. They can still be read after the service was deleted.',
    query: PageQuery,
    response: OperationListResponse,
    handler: async (request) => {
      const { id } = await readService(request, { deleted: true });
      const page = await listOperations(request.db, id, pageRequest(request));
      return { operations: page.items.map(presentOperation), page: presentPage(request, page) };
    },
  }),
  defineRoute('GET', `${COLLECTION}/:operationId`, 'operation.read', {
    summary: 'Read an operation',
    description: 'An operation has ended if its status is succeeded or failed.',
    response: OperationResponse,
    handler: async (request) => {
      const { id } = await readService(request, { deleted: true });
      return { operation: presentOperation(found(await findOperation(request.db, id, request.params.operationId))) };
    },
  }),
];
