import type { Keyring } from '../../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../../shared/secrets/sealed-columns.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import { maskedRepository } from '../../../shared/services/service-source.js';
import {
  createTemplateSource,
  deleteTemplateSource,
  listTemplateSources,
  rereadTemplateSource,
  type TemplateSourceRow,
} from '../../../shared/templates/store.js';
import { deleted, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import {
  CreateTemplateSourceBody,
  TemplateSourceListResponse,
  TemplateSourceResponse,
  TemplateSourceSchema,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/template-sources';

function presentSource(keyring: Keyring, row: TemplateSourceRow) {
  return present(TemplateSourceSchema, row, {
    repository: maskedRepository(openFrom(keyring, SEALED.templateRepository, row.id, row.sealed_repository)),
    state: row.finished_at === null ? 'reading' : row.error === '' ? 'ready' : 'failed',
    templates: row.templates.map(({ name }) => `${row.name}.${name}`),
    problems: row.problems.map(({ file, message }) => ({ file, message })),
  });
}

/** Repositories whose folder `.ranvier/templates` contains a workspace's own templates. */
export const templateSourceRoutes = [
  defineRoute('GET', COLLECTION, 'template-source.list', {
    summary: 'List template sources',
    description: 'Repositories with templates of the workspace, newest first, with the files that are no template.',
    query: PageQuery,
    response: TemplateSourceListResponse,
    handler: async (request) => {
      const page = await listTemplateSources(request.db, request.workspace.row.id, pageRequest(request));
      const templateSources = page.items.map((row) => presentSource(request.deps.keyring, row));
      return { templateSources, page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'template-source.create', {
    summary: 'Add a template source',
    description:
      'A worker reads the files .ranvier/templates/*.yaml of the repository. Until then the state is reading. Nothing of the repository is run.',
    errors: ['source_invalid', 'capacity_exceeded', 'conflict'],
    body: CreateTemplateSourceBody,
    status: 201,
    response: TemplateSourceResponse,
    engine: true,
    handler: async ({ deps, trx, params, body, needEngine }) => {
      needEngine();
      const { name, repository, branch = DEFAULT_CONFIGURATION.branch } = body;
      const input = { workspaceId: params.workspaceId, name, repository, branch };
      return { templateSource: presentSource(deps.keyring, await createTemplateSource(trx, deps, input)) };
    },
  }),
  defineRoute('POST', `${COLLECTION}/:templateSourceId/refresh`, 'template-source.refresh', {
    summary: 'Read a template source again',
    description: 'Its templates stay as they are until a worker has read the newest commit of the branch.',
    status: 202,
    response: TemplateSourceResponse,
    engine: true,
    handler: async ({ deps, trx, params, needEngine }) => {
      needEngine();
      const row = found(await rereadTemplateSource(trx, params.workspaceId, params.templateSourceId));
      return { templateSource: presentSource(deps.keyring, row) };
    },
  }),
  defineRoute('DELETE', `${COLLECTION}/:templateSourceId`, 'template-source.delete', {
    summary: 'Delete a template source',
    description: 'Its templates are gone. Stacks that were made of them stay.',
    response: DeletedResponse,
    handler: async ({ trx, params }) =>
      deleted(await deleteTemplateSource(trx, params.workspaceId, params.templateSourceId)),
  }),
];
