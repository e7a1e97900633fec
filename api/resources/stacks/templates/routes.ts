import { STACK_SCHEMA_PATH } from '../../../../shared/stacks/document-schema.js';
import { ownTemplates } from '../../../../shared/templates/store.js';
import { found } from '../../../http/assertions.js';
import { defineRoute } from '../../../http/route.js';
import { withSchema } from '../present.js';
import { findTemplate, templates } from './catalog.js';
import { fillTemplate } from './fill-template.js';
import { presentTemplate, textOf } from './present.js';
import { FillBody, FillResponse, TemplateListResponse, TemplateResponse } from './schema.js';

/** A template is a stack's document with placeholders, and questions whose answers replace them. */
export const templateRoutes = [
  defineRoute('GET', '/templates', 'template.list', {
    summary: 'List templates',
    description: 'By their titles. A plan takes the name of one in place of a document.',
    response: TemplateListResponse,
    handler: async () => ({ templates: [...templates().values()].map(presentTemplate) }),
  }),
  defineRoute('GET', '/templates/:templateName', 'template.read', {
    summary: 'Read a template',
    description: 'With its document, in which the answers are still to be filled in.',
    response: TemplateResponse,
    handler: async ({ params }) => {
      const template = found(templates().get(params.templateName));
      return { template: { ...presentTemplate(template), document: textOf(template.document()) } };
    },
  }),
  defineRoute('GET', '/workspaces/:workspaceId/templates', 'template.list-own', {
    summary: 'List the templates of a workspace',
    description: "Those of the platform by their titles, and then those of the workspace's template sources.",
    response: TemplateListResponse,
    handler: async ({ db, params }) => {
      const own = await ownTemplates(db, params.workspaceId);
      return { templates: [...templates().values(), ...own].map(presentTemplate) };
    },
  }),
  defineRoute('GET', '/workspaces/:workspaceId/templates/:templateName', 'template.read-own', {
    summary: 'Read a template of a workspace',
    description: 'One of the platform, or source.template for one of a template source.',
    response: TemplateResponse,
    handler: async ({ db, params }) => {
      const template = found(await findTemplate(db, params.workspaceId, params.templateName));
      return { template: { ...presentTemplate(template), document: textOf(template.document()) } };
    },
  }),
  defineRoute('POST', '/workspaces/:workspaceId/templates/:templateName/fill', 'template.fill', {
    summary: 'Fill a template',
    description: 'Answers with the document that the answers make. Nothing is stored.',
    body: FillBody,
    example: { values: {} },
    keyed: false,
    response: FillResponse,
    handler: async ({ deps, trx, params, body }) => {
      const template = found(await findTemplate(trx, params.workspaceId, params.templateName));
      const { document } = fillTemplate(template, body.values ?? {});
      return { document: withSchema(textOf(document), deps.config.publicUrl + STACK_SCHEMA_PATH) };
    },
  }),
];
