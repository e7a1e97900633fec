import { defineRoute } from '../../http/route.js';
import { DeletedResponse } from '../../http/schema.js';
import { cloneEnvironment } from '../stacks/clone-environment.js';
import { assertNoClone, createEnvironment, deleteEnvironment, updateEnvironment } from './commands.js';
import {
  CreateEnvironmentBody,
  CreateEnvironmentResponse,
  presentEnvironment,
  presentReference,
  UpdateEnvironmentBody,
  UpdateEnvironmentResponse,
} from './schema.js';
import { groupsAcross, referencesInto } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/projects/:projectId/environments';
const ONE = '/workspaces/:workspaceId/projects/:projectId/environments/:environmentId';

/**
 * Environments of a project. No route reads a single environment, because the project's response contains all of them.
 */
export const environmentRoutes = [
  defineRoute('POST', COLLECTION, 'environment.create', {
    summary: 'Create an environment',
    description:
      'Adds an environment to a project. Names are unique in a project. With cloneFrom it becomes a copy of another one, by an apply: read the apply until it has ended.',
    errors: ['conflict', 'capacity_exceeded'],
    body: CreateEnvironmentBody,
    example: { name: 'Staging' },
    status: 201,
    response: CreateEnvironmentResponse,
    engine: true,
    handler: async ({ trx, deps, params, caller, body, authorize, needEngine }) => {
      const { name, protected: isProtected = false, cloneFrom, ...options } = body;
      if (cloneFrom === undefined) assertNoClone(options);
      const environment = await createEnvironment(trx, { ...params, name, protected: isProtected, authorize });
      if (cloneFrom === undefined) return { environment: presentEnvironment(environment) };
      const asked = { actor: caller.email, authorize, needEngine };
      const clone = await cloneEnvironment(trx, deps, { environment, cloneFrom, ...options, ...asked });
      return { environment: presentEnvironment(environment), clone };
    },
  }),
  defineRoute('PATCH', ONE, 'environment.update', {
    summary: 'Update an environment',
    description:
      'Renames an environment, protects it or removes its protection. If the request protects it, the answer lists the variables and groups that connect it with services outside.',
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
  defineRoute('DELETE', ONE, 'environment.delete', {
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
