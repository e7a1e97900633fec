import { createEnvironment, deleteEnvironment, updateEnvironment } from '../../../shared/commands/environments.js';
import { defineWrite } from '../../route.js';
import { DeletedResponse } from '../../schema.js';
import { presentEnvironment } from './present.js';
import { CreateEnvironmentBody, EnvironmentResponse, UpdateEnvironmentBody } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/projects/:projectId/environments';
const ONE = '/workspaces/:workspaceId/projects/:projectId/environments/:environmentId';

/** Environments are read as part of their project. */
export const environmentRoutes = [
  defineWrite({
    method: 'POST',
    path: COLLECTION,
    operation: 'environment.create',
    summary: 'Add an environment to a project',
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
  defineWrite({
    method: 'PATCH',
    path: ONE,
    operation: 'environment.update',
    summary: 'Rename an environment, protect it or remove its protection',
    body: UpdateEnvironmentBody,
    response: EnvironmentResponse,
    handler: async ({ trx, params, body, authorize }) => {
      const changes = { name: body.name, protected: body.protected };
      const environment = await updateEnvironment(trx, { ...params, changes, authorize });
      return { environment: presentEnvironment(environment) };
    },
  }),
  defineWrite({
    method: 'DELETE',
    path: ONE,
    operation: 'environment.delete',
    summary: 'Delete an empty environment that is not the last of its project',
    response: DeletedResponse,
    handler: async ({ trx, params, authorize }) => {
      await deleteEnvironment(trx, { ...params, authorize });
      return { deleted: true } as const;
    },
  }),
];
