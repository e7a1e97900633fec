import { Type } from 'typebox';
import { createGroup, linkService, unlinkService, updateGroup } from '../../../shared/groups/commands.js';
import { deleteGroupRow, type EnvironmentGroupView, listGroupViews } from '../../../shared/groups/store.js';
import { asksForPage, pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, Name, Nullable, PageQuery, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { lockGroup, readGroup } from './find-group.js';

const EnvironmentGroupSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    environmentId: Nullable(Uuid),
    serviceIds: Type.Array(Uuid),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'EnvironmentGroup',
);
const presentGroup = (row: EnvironmentGroupView) => present(EnvironmentGroupSchema, row);

const EnvironmentGroupResponse = Strict({ environmentGroup: EnvironmentGroupSchema });
const EnvironmentGroupListResponse = Strict({
  environmentGroups: Type.Array(EnvironmentGroupSchema),
  page: Type.Optional(PageSchema),
});

const CreateEnvironmentGroupBody = Strict({ name: Name, environmentId: Type.Optional(Nullable(Uuid)) });
const UpdateEnvironmentGroupBody = Strict({
  name: Type.Optional(Name),
  environmentId: Type.Optional(Nullable(Uuid)),
});
const LinkServiceBody = Strict({ serviceId: Uuid });

const COLLECTION = '/workspaces/:workspaceId/environment-groups';
const ONE = '/workspaces/:workspaceId/environment-groups/:groupId';

/** Environment groups. The routes for their variables are in `resources/variables`. */
export const environmentGroupRoutes = [
  defineRoute('GET', COLLECTION, 'group.list', {
    summary: 'List environment groups',
    description: 'Newest first. Without limit and cursor the list is complete and has no page.',
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
  defineRoute('POST', COLLECTION, 'group.create', {
    summary: 'Create an environment group',
    description: 'Creates a group for one environment; for the whole workspace if environmentId is null or absent.',
    errors: ['capacity_exceeded'],
    body: CreateEnvironmentGroupBody,
    status: 201,
    response: EnvironmentGroupResponse,
    handler: async ({ trx, params: { workspaceId }, body, authorize }) => {
      const { name, environmentId = null } = body;
      const groupId = await createGroup(trx, { workspaceId, name, environmentId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params: { workspaceId, groupId } })) };
    },
  }),
  defineRoute('GET', ONE, 'group.read', {
    summary: 'Read an environment group',
    description: 'The group with the ids of its services.',
    response: EnvironmentGroupResponse,
    handler: async (request) => ({ environmentGroup: presentGroup(await readGroup(request)) }),
  }),
  defineRoute('PATCH', ONE, 'group.update', {
    summary: 'Update an environment group',
    description:
      'Renames the group, or restricts it to an environment. All linked services must be in that environment.',
    errors: ['conflict'],
    body: UpdateEnvironmentGroupBody,
    example: { name: 'Shared settings' },
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, body, authorize } = request;
      const group = await lockGroup(request);
      await updateGroup(trx, { group, name: body.name, environmentId: body.environmentId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
  defineRoute('DELETE', ONE, 'group.delete', {
    summary: 'Delete an environment group',
    description: 'Deletes the group with its variables; its services are unlinked.',
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockGroup(request);
      await deleteGroupRow(request.trx, id);
      return { deleted: true } as const;
    },
  }),
  defineRoute('POST', `${ONE}/services`, 'group.link', {
    summary: 'Link a service to a group',
    description: "Links a service to the group. The service's next deployment gets the variables of the group.",
    errors: ['conflict'],
    body: LinkServiceBody,
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, body, authorize } = request;
      const group = await lockGroup(request);
      await linkService(trx, { group, serviceId: body.serviceId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
  defineRoute('DELETE', `${ONE}/services/:serviceId`, 'group.unlink', {
    summary: 'Unlink a service from a group',
    description: "Removes the link. The service's next deployment no longer gets the variables of the group.",
    response: EnvironmentGroupResponse,
    handler: async (request) => {
      const { trx, params, authorize } = request;
      const group = await lockGroup(request);
      await unlinkService(trx, { group, serviceId: params.serviceId, authorize });
      return { environmentGroup: presentGroup(await readGroup({ db: trx, params })) };
    },
  }),
];
