import { STACK_SCHEMA_PATH } from '../../../../shared/stacks/document-schema.js';
import { found } from '../../../http/assertions.js';
import { defineRoute } from '../../../http/route.js';
import { withSchema } from '../present.js';
import { templates } from './catalog.js';
import { fillTemplate } from './fill-template.js';
import { presentTemplate, textOf } from './present.js';
import { FillBody, FillResponse, TemplateListResponse, TemplateResponse } from './schema.js';

/** Templates: stacks with questions, which are part of the platform. */
export const templateRoutes = [
  defineRoute({
    method: 'GET',
    path: '/templates',
    operation: 'template.list',
    summary: 'List templates',
    description: 'By their titles. A plan takes the name of one in place of a document.',
    response: TemplateListResponse,
    handler: async () => ({ templates: [...templates().values()].map(presentTemplate) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/templates/:templateName',
    operation: 'template.read',
    summary: 'Read a template',
    description: 'With its document, in which the answers are still to be filled in.',
    response: TemplateResponse,
    handler: async ({ params }) => {
      const template = found(templates().get(params.templateName));
      return { template: { ...presentTemplate(template), document: textOf(template.document()) } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/workspaces/:workspaceId/templates/:templateName/fill',
    operation: 'template.fill',
    summary: 'Fill a template',
    description: 'Answers with the document that the answers make. Nothing is stored.',
    body: FillBody,
    example: { values: {} },
    keyed: false,
    response: FillResponse,
    handler: async ({ deps, params, body }) => {
      const { document } = fillTemplate(found(templates().get(params.templateName)), body.values ?? {});
      return { document: withSchema(textOf(document), deps.config.publicUrl + STACK_SCHEMA_PATH) };
    },
  }),
];
