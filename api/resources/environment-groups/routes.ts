import { asksForPage, pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { createGroup, linkService, unlinkService, updateGroup } from './commands.js';
import { lockGroup, readGroup } from './find-group.js';
import { presentGroup } from './present.js';
import {
  CreateEnvironmentGroupBody,
  EnvironmentGroupListResponse,
  EnvironmentGroupResponse,
  LinkServiceBody,
  UpdateEnvironmentGroupBody,
} from './schema.js';
import { deleteGroupRow, listGroupViews } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/environment-groups';
const ONE = '/workspaces/:workspaceId/environment-groups/:groupId';

/** Sets of variables that several services share. `resources/variables` has the routes of these variables. */
export const environmentGroupRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'group.list',
    summary: 'List the environment groups',
    query: PageQuery,
    response: EnvironmentGroupListResponse,
    handler: async (request) => {
      const page = await listGroupViews(request.db, request.params.workspaceId, pageRequestOrComplete(request));
      const environmentGroups = page.items.map(presentGroup);
      return asksForPage(request.query)
        ? { environmentGroups, page: presentPage(request, page) }
        : { environmentGroups };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'group.create',
    summary: 'Create an environment group, for one environment or for the whole workspace',
    body: CreateEnvironmentGroupBody,
    status: 201,
    response: EnvironmentGroupResponse,
    handler: async ({ trx, params: { workspaceId }, body, authorize }) => {
      const { name, environmentId = null } = body;
      const groupId = await createGroup(trx, { workspaceId, name, environmentId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params: { workspaceId, groupId } })) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: ONE,
    operation: 'group.read',
    summary: 'Read an environment group',
    response: EnvironmentGroupResponse,
    handler: async (request) => ({ environmentGroup: presentGroup(await readGroup(request)) }),
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'group.update',
    summary: 'Rename an environment group, or restrict it to another environment that has all its services',
    body: UpdateEnvironmentGroupBody,
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, body, authorize } = request;
      const group = await lockGroup(request);
      await updateGroup(trx, { group, name: body.name, environmentId: body.environmentId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'group.delete',
    summary: 'Delete an environment group with its variables; its services are unlinked',
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockGroup(request);
      await deleteGroupRow(request.trx, id);
      return { deleted: true } as const;
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/services`,
    operation: 'group.link',
    summary: 'Link a service: the variables of the group reach its next deployment',
    body: LinkServiceBody,
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, body, authorize } = request;
      const group = await lockGroup(request);
      await linkService(trx, { group, serviceId: body.serviceId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: `${ONE}/services/:serviceId`,
    operation: 'group.unlink',
    summary: 'Unlink a service from the group',
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, authorize } = request;
      const group = await lockGroup(request);
      await unlinkService(trx, { group, serviceId: params.serviceId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
];
