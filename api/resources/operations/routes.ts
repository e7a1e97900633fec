import { findOperation, listOperations } from '../../../shared/db/deployment-views.js';
import { AppError } from '../../../shared/errors.js';
import { pageRequest, presentPage } from '../../pagination.js';
import { defineRead } from '../../route.js';
import { PageQuery } from '../../schema.js';
import { readService } from '../services/load.js';
import { presentOperation } from './present.js';
import { OperationListResponse, OperationResponse } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/operations';

/** Operations can be read after their service is gone: its deletion is one of them. */
export const operationRoutes = [
  defineRead({
    path: COLLECTION,
    operation: 'operation.list',
    summary: "List a service's operations, newest first",
    query: PageQuery,
    response: OperationListResponse,
    handler: async (request) => {
      const { id } = await readService(request, { deleted: true });
      const page = await listOperations(request.db, id, pageRequest(request));
      return { operations: page.items.map(presentOperation), page: presentPage(request, page) };
    },
  }),
  defineRead({
    path: `${COLLECTION}/:operationId`,
    operation: 'operation.read',
    summary: 'Read an operation',
    response: OperationResponse,
    handler: async (request) => {
      const { id } = await readService(request, { deleted: true });
      const operation = await findOperation(request.db, id, request.params.operationId);
      if (!operation) throw new AppError('not_found');
      return { operation: presentOperation(operation) };
    },
  }),
];
