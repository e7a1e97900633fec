import type { Static } from 'typebox';
import { COMPLETE } from '../../../shared/core/database/page.js';
import type { ErrorCode } from '../../../shared/core/error-registry.js';
import { createVariable, updateVariable } from '../../../shared/variables/commands.js';
import { MAX_VARIABLES, VARIABLES_BYTES, type VariableContent } from '../../../shared/variables/model.js';
import { setVariables } from '../../../shared/variables/set-variables.js';
import { deleteVariable, listVariables } from '../../../shared/variables/store.js';
import { deleted } from '../../http/assertions.js';
import { pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute, type Route } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import {
  CreateVariableBody,
  presentVariable,
  SetVariablesBody,
  SetVariablesResponse,
  UpdateVariableBody,
  VariableListResponse,
  VariableResponse,
} from './schema.js';
import { lockOwner, readOwner, type VariablesPath } from './variable-owner.js';

const OWNER_LIMITS = `at most ${MAX_VARIABLES} variables with ${VARIABLES_BYTES} bytes of keys and values together`;

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

/** Returns the routes for variables. `whose` ends each summary, as in "of an environment group". */
function routesAt(collection: VariablesPath, operation: 'variable' | 'group-variable', whose: string): Route[] {
  const one = `${collection}/:variableId` as const;
  // Variables of a preview cannot be changed, because they are those of its base service.
  const previewErrors: readonly ErrorCode[] = operation === 'variable' ? ['conflict'] : [];
  return [
    defineRoute('GET', collection, `${operation}.list`, {
      summary: `List variables ${whose}`,
      description: 'Newest first. The value is always null. Without limit and cursor the list is complete.',
      query: PageQuery,
      response: VariableListResponse,
      handler: async (request) => {
        const page = await listVariables(request.db, await readOwner(request), pageRequestOrComplete(request));
        return { variables: page.items.map(presentVariable), page: presentPage(request, page) };
      },
    }),
    defineRoute('POST', collection, `${operation}.create`, {
      summary: `Create a variable ${whose}`,
      description: `Stores an encrypted value, or a reference to a variable of another service. Keys are unique; ${OWNER_LIMITS}.`,
      errors: ['conflict'],
      body: CreateVariableBody,
      example: { key: 'LOG_LEVEL', value: 'info' },
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
    defineRoute('PUT', collection, `${operation}.set`, {
      summary: `Set variables ${whose}`,
      description: `Creates, replaces and deletes variables in one transaction; others stay. Each key is named once; ${OWNER_LIMITS}.`,
      errors: ['conflict'],
      body: SetVariablesBody,
      example: { set: [{ key: 'LOG_LEVEL', value: 'info' }], unset: ['OLD_KEY'] },
      response: SetVariablesResponse,
      handler: async (request) => {
        const { deps, trx, params, body, authorize } = request;
        const owner = await lockOwner(request);
        await setVariables(trx, deps, {
          workspaceId: params.workspaceId,
          owner,
          set: (body.set ?? []).map(({ key, scope, ...content }) => ({ key, scope, content: contentOf(content) })),
          unset: body.unset ?? [],
          authorize,
        });
        return { variables: (await listVariables(trx, owner, COMPLETE)).items.map(presentVariable) };
      },
    }),
    defineRoute('PATCH', one, `${operation}.update`, {
      summary: `Update a variable ${whose}`,
      description: `Replaces the value or the reference, and the scope if one is given; ${OWNER_LIMITS}.`,
      errors: previewErrors,
      body: UpdateVariableBody,
      example: { value: 'debug' },
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
    defineRoute('DELETE', one, `${operation}.delete`, {
      summary: `Delete a variable ${whose}`,
      description: 'Deletes the variable. The next deployment is made without it.',
      errors: previewErrors,
      response: DeletedResponse,
      handler: async (request) =>
        deleted(await deleteVariable(request.trx, await lockOwner(request), request.params.variableId)),
    }),
  ];
}

function contentOf({ value, reference }: Static<typeof UpdateVariableBody>): VariableContent {
  if (value !== undefined) return { value };
  if (reference !== undefined) return { reference };
  throw new Error('the schema demands value or reference');
}
