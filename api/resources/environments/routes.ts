import { defineRoute } from '../../http/route.js';
import { DeletedResponse } from '../../http/schema.js';
import { createEnvironment, deleteEnvironment, updateEnvironment } from './commands.js';
import { presentEnvironment, presentReference } from './present.js';
import {
  CreateEnvironmentBody,
  EnvironmentResponse,
  UpdateEnvironmentBody,
  UpdateEnvironmentResponse,
} from './schema.js';
import { groupsAcross, referencesInto } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/projects/:projectId/environments';
const ONE = '/workspaces/:workspaceId/projects/:projectId/environments/:environmentId';

/** Environments are read as part of their project. */
export const environmentRoutes = [
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'environment.create',
    summary: 'Create an environment',
    description: 'Adds an environment to a project. Names are unique in a project.',
    errors: ['conflict', 'capacity_exceeded'],
    body: CreateEnvironmentBody,
    status: 201,
    response: EnvironmentResponse,
    handler: async ({ trx, params, body, authorize }) => {
      const environment = await createEnvironment(trx, {
        ...params,
        name: body.name,
        protected: body.protected ?? false,
        authorize,
      });
      return { environment: presentEnvironment(environment) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'environment.update',
    summary: 'Update an environment',
    description:
      'Renames an environment, protects it or removes its protection. An answer that protects it names the variables and groups that reach across its border.',
    errors: ['conflict'],
    body: UpdateEnvironmentBody,
    example: { protected: true },
    response: UpdateEnvironmentResponse,
    handler: async ({ trx, params, body, authorize }) => {
      const changes = { name: body.name, protected: body.protected };
      const environment = presentEnvironment(await updateEnvironment(trx, { ...params, changes, authorize }));
      if (body.protected !== true) return { environment };
      const references = (await referencesInto(trx, environment.id)).map(presentReference);
      return { environment, references, sharedGroups: await groupsAcross(trx, environment.id) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'environment.delete',
    summary: 'Delete an environment',
    description: 'Deletes an empty environment that is not the last of its project.',
    errors: ['conflict'],
    response: DeletedResponse,
    handler: async ({ trx, params, authorize }) => {
      await deleteEnvironment(trx, { ...params, authorize });
      return { deleted: true } as const;
    },
  }),
];
