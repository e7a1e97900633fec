import type { Static } from 'typebox';
import { COMPLETE } from '../../../shared/core/database/page.js';
import { AppError, invalidRequest } from '../../../shared/core/errors.js';
import type { VariableContent } from '../../../shared/variables/model.js';
import { pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute, type Route } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { createVariable, updateVariable } from './commands.js';
import { presentVariable } from './present.js';
import {
  CreateVariableBody,
  SetVariablesBody,
  SetVariablesResponse,
  UpdateVariableBody,
  VariableListResponse,
  VariableResponse,
} from './schema.js';
import { setVariables } from './set-variables.js';
import { deleteVariable, listVariables } from './store.js';
import { lockOwner, readOwner, type VariablesPath } from './variable-owner.js';

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

/** The routes of one collection; `whose` completes their summaries. */
function routesAt(collection: VariablesPath, operation: 'variable' | 'group-variable', whose: string): Route[] {
  const one = `${collection}/:variableId` as const;
  return [
    defineRoute({
      method: 'GET',
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
    defineRoute({
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
          owner: await lockOwner(request),
          key: body.key,
          content: contentOf(body),
          scope: body.scope,
          authorize,
        });
        return { variable: presentVariable(variable) };
      },
    }),
    defineRoute({
      method: 'PUT',
      path: collection,
      operation: `${operation}.set`,
      summary: `Create, replace and delete variables ${whose} in one transaction; others stay`,
      body: SetVariablesBody,
      response: SetVariablesResponse,
      handler: async (request) => {
        const { deps, trx, params, body, authorize } = request;
        const owner = await lockOwner(request);
        await setVariables(trx, deps, {
          workspaceId: params.workspaceId,
          owner,
          set: (body.set ?? []).map((variable, i) => ({
            key: variable.key,
            content: contentOf(variable, `/set/${i}`),
            scope: variable.scope,
          })),
          unset: body.unset ?? [],
          authorize,
        });
        return { variables: (await listVariables(trx, owner, COMPLETE)).items.map(presentVariable) };
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: one,
      operation: `${operation}.update`,
      summary: `Replace the content of a variable ${whose}, and its scope if one is given`,
      body: UpdateVariableBody,
      response: VariableResponse,
      handler: async (request) => {
        const { deps, trx, params, body, authorize } = request;
        const variable = await updateVariable(trx, deps, {
          workspaceId: params.workspaceId,
          owner: await lockOwner(request),
          id: params.variableId,
          content: contentOf(body),
          scope: body.scope,
          authorize,
        });
        return { variable: presentVariable(variable) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: one,
      operation: `${operation}.delete`,
      summary: `Delete a variable ${whose}`,
      response: DeletedResponse,
      handler: async (request) => {
        const { trx, params } = request;
        if (!(await deleteVariable(trx, await lockOwner(request), params.variableId))) throw new AppError('not_found');
        return { deleted: true } as const;
      },
    }),
  ];
}

/** The content that a body gives a variable: exactly one of value and reference. Throws invalid_request. */
function contentOf({ value, reference }: Static<typeof UpdateVariableBody>, at = ''): VariableContent {
  if (value !== undefined && reference === undefined) return { value };
  if (reference !== undefined && value === undefined) return { reference };
  throw invalidRequest(`${at}/value`, 'is required unless reference is given, and must not be given with it');
}
