import { createVariable, updateVariable } from '../../../shared/commands/variables.js';
import { deleteVariable, listVariables } from '../../../shared/db/variables.js';
import { AppError } from '../../../shared/errors.js';
import { pageRequestOrComplete, presentPage } from '../../pagination.js';
import { defineRead, defineWrite } from '../../route.js';
import { PageQuery } from '../../schema.js';
import { loadService, readService } from '../services/load.js';
import { contentOf } from './content.js';
import { presentVariable } from './present.js';
import {
  CreateVariableBody,
  DeletedResponse,
  UpdateVariableBody,
  VariableListResponse,
  VariableResponse,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/variables';

export const variableRoutes = [
  defineRead({
    path: COLLECTION,
    operation: 'variable.list',
    summary: "List a service's variables, masked",
    query: PageQuery,
    response: VariableListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listVariables(request.db, { serviceId: id }, pageRequestOrComplete(request));
      return { variables: page.items.map(presentVariable), page: presentPage(request, page) };
    },
  }),
  defineWrite({
    method: 'POST',
    path: COLLECTION,
    operation: 'variable.create',
    summary: 'Create an encrypted variable, or a reference to one of another service',
    body: CreateVariableBody,
    status: 201,
    response: VariableResponse,
    handler: async (request) => {
      const { deps, trx, body, authorize } = request;
      const service = await loadService(request);
      const variable = await createVariable(trx, deps, {
        workspaceId: service.workspace_id,
        owner: { serviceId: service.id },
        key: body.key,
        content: contentOf(body),
        authorize,
      });
      return { variable: presentVariable(variable) };
    },
  }),
  defineWrite({
    method: 'PATCH',
    path: `${COLLECTION}/:variableId`,
    operation: 'variable.update',
    summary: 'Replace what a variable holds',
    body: UpdateVariableBody,
    response: VariableResponse,
    handler: async (request) => {
      const { deps, trx, params, body, authorize } = request;
      const service = await loadService(request);
      const variable = await updateVariable(trx, deps, {
        workspaceId: service.workspace_id,
        owner: { serviceId: service.id },
        id: params.variableId,
        content: contentOf(body),
        authorize,
      });
      return { variable: presentVariable(variable) };
    },
  }),
  defineWrite({
    method: 'DELETE',
    path: `${COLLECTION}/:variableId`,
    operation: 'variable.delete',
    summary: 'Delete a variable',
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await loadService(request);
      const deleted = await deleteVariable(request.trx, { serviceId: id }, request.params.variableId);
      if (!deleted) throw new AppError('not_found');
      return { deleted: true } as const;
    },
  }),
];
