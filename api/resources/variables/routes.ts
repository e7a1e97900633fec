import { createVariable, updateVariable } from '../../../shared/commands/variables.js';
import { deleteVariable, listVariables } from '../../../shared/db/variables.js';
import { AppError } from '../../../shared/errors.js';
import { pageRequestOrComplete, presentPage } from '../../pagination.js';
import { defineRead, defineWrite, type Route } from '../../route.js';
import { DeletedResponse, PageQuery } from '../../schema.js';
import { contentOf } from './content.js';
import { loadOwner, readOwner, type VariablesPath } from './owner.js';
import { presentVariable } from './present.js';
import { CreateVariableBody, UpdateVariableBody, VariableListResponse, VariableResponse } from './schema.js';

export const variableRoutes = routesAt(
  '/workspaces/:workspaceId/services/:serviceId/variables',
  'variable',
  'of a service',
);
export const groupVariableRoutes = routesAt(
  '/workspaces/:workspaceId/environment-groups/:groupId/variables',
  'group-variable',
  'of an environment group',
);

/** The collection of variables of either kind of owner. */
function routesAt(collection: VariablesPath, operation: 'variable' | 'group-variable', whose: string): Route[] {
  const one = `${collection}/:variableId` as const;
  return [
    defineRead({
      path: collection,
      operation: `${operation}.list`,
      summary: `List the variables ${whose}, masked`,
      query: PageQuery,
      response: VariableListResponse,
      handler: async (request) => {
        const page = await listVariables(request.db, await readOwner(request), pageRequestOrComplete(request));
        return { variables: page.items.map(presentVariable), page: presentPage(request, page) };
      },
    }),
    defineWrite({
      method: 'POST',
      path: collection,
      operation: `${operation}.create`,
      summary: `Create an encrypted variable ${whose}, or a reference to one of another service`,
      body: CreateVariableBody,
      status: 201,
      response: VariableResponse,
      handler: async (request) => {
        const { deps, trx, params, body, authorize } = request;
        const variable = await createVariable(trx, deps, {
          workspaceId: params.workspaceId,
          owner: await loadOwner(request),
          key: body.key,
          content: contentOf(body),
          authorize,
        });
        return { variable: presentVariable(variable) };
      },
    }),
    defineWrite({
      method: 'PATCH',
      path: one,
      operation: `${operation}.update`,
      summary: `Replace what a variable ${whose} holds`,
      body: UpdateVariableBody,
      response: VariableResponse,
      handler: async (request) => {
        const { deps, trx, params, body, authorize } = request;
        const variable = await updateVariable(trx, deps, {
          workspaceId: params.workspaceId,
          owner: await loadOwner(request),
          id: params.variableId,
          content: contentOf(body),
          authorize,
        });
        return { variable: presentVariable(variable) };
      },
    }),
    defineWrite({
      method: 'DELETE',
      path: one,
      operation: `${operation}.delete`,
      summary: `Delete a variable ${whose}`,
      response: DeletedResponse,
      handler: async (request) => {
        const { trx, params } = request;
        if (!(await deleteVariable(trx, await loadOwner(request), params.variableId))) throw new AppError('not_found');
        return { deleted: true } as const;
      },
    }),
  ];
}
