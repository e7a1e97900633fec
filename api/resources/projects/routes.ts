import { assertConfirmed, found } from '../../http/assertions.js';
import { asksForPage, pageRequestOrComplete, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { ConfirmBody, DeletedResponse, PageQuery } from '../../http/schema.js';
import { createProject, deleteProject, updateProject } from './commands.js';
import {
  CreateProjectBody,
  ProjectListResponse,
  ProjectResponse,
  presentProject,
  UpdateProjectBody,
} from './schema.js';
import { findProjectView, listProjectViews } from './store.js';

const COLLECTION = '/workspaces/:workspaceId/projects';
const ONE = '/workspaces/:workspaceId/projects/:projectId';

export const projectRoutes = [
  defineRoute('GET', COLLECTION, 'project.list', {
    summary: 'List projects',
    description:
      'Newest first, each with its environments. Without limit and cursor the list is complete and has no page.',
    query: PageQuery,
    response: ProjectListResponse,
    handler: async (request) => {
      const page = await listProjectViews(request.db, request.params.workspaceId, pageRequestOrComplete(request));
      const projects = page.items.map(presentProject);
      return asksForPage(request.query) ? { projects, page: presentPage(request, page) } : { projects };
    },
  }),
  defineRoute('POST', COLLECTION, 'project.create', {
    summary: 'Create a project',
    description: 'Creates a project with one environment, Production.',
    errors: ['capacity_exceeded'],
    body: CreateProjectBody,
    status: 201,
    response: ProjectResponse,
    handler: async ({ trx, params: { workspaceId }, body: { name, color, description = '' } }) => {
      const id = await createProject(trx, { workspaceId, name, color, description });
      return { project: presentProject(found(await findProjectView(trx, workspaceId, id))) };
    },
  }),
  defineRoute('GET', ONE, 'project.read', {
    summary: 'Read a project',
    description: 'The project with its environments.',
    response: ProjectResponse,
    handler: async ({ db, params }) => ({
      project: presentProject(found(await findProjectView(db, params.workspaceId, params.projectId))),
    }),
  }),
  defineRoute('PATCH', ONE, 'project.update', {
    summary: 'Update a project',
    description: 'Changes the fields that are given; the others stay.',
    body: UpdateProjectBody,
    example: { description: 'The shop and its database' },
    response: ProjectResponse,
    handler: async ({ trx, params, body: { name, color, description } }) => {
      await updateProject(trx, { ...params, changes: { name, color, description } });
      return { project: presentProject(found(await findProjectView(trx, params.workspaceId, params.projectId))) };
    },
  }),
  defineRoute('DELETE', ONE, 'project.delete', {
    summary: 'Delete a project',
    description:
      'Deletes an empty project with its environments: move or delete its services and environment groups first.',
    errors: ['conflict'],
    body: ConfirmBody,
    response: DeletedResponse,
    handler: async ({ trx, params, body }) => {
      assertConfirmed(body.confirm, found(await findProjectView(trx, params.workspaceId, params.projectId)));
      await deleteProject(trx, params);
      return { deleted: true } as const;
    },
  }),
];
