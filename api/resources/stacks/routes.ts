import type { Static } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import type { Db } from '../../../shared/core/database/database-client.js';
import { invalidRequest } from '../../../shared/core/error-registry.js';
import { findEnvironment } from '../../../shared/environments/store.js';
import { STACK_SCHEMA_PATH } from '../../../shared/stacks/document-schema.js';
import { readEnvironmentState } from '../../../shared/stacks/environment-store.js';
import { planDocument } from '../../../shared/stacks/plan-document.js';
import { found } from '../../http/assertions.js';
import { defineRoute } from '../../http/route.js';
import { importFile, nativeDocument } from './import/import-file.js';
import { presentDocument, presentPlan, withSchema } from './present.js';
import { pullStack } from './pull.js';
import { ImportBody, ImportResponse, PlanBody, PlanResponse, PullResponse, STACK_BODY_LIMIT } from './schema.js';
import { findTemplate } from './templates/catalog.js';
import { fillTemplate } from './templates/fill-template.js';
import { textOf } from './templates/present.js';

const COLLECTION = '/workspaces/:workspaceId/stacks';

export const stackRoutes = [
  defineRoute('POST', `${COLLECTION}/plan`, 'stack.plan', {
    summary: 'Plan a stack',
    description:
      'Compares a document, or a template with answers, with the environment and answers with what an apply would change. Nothing is stored. Values of variables are never shown.',
    errors: ['owned_elsewhere', 'conflict'],
    body: PlanBody,
    bodyLimit: STACK_BODY_LIMIT,
    example: {
      name: 'shop',
      environmentId: '0198c0de-0000-7000-8000-000000000003',
      document: 'services:\n  web:\n    kind: web\n    repository: https://git.example.com/shop.git\n',
    },
    keyed: false,
    response: PlanResponse,
    handler: async ({ trx, deps, params, body, authorize }) => {
      const { name, format, environmentId } = body;
      const { workspaceId } = params;
      const { document, values } = await documentToPlan(trx, deps.config, workspaceId, body);
      const { plan } = await planDocument(trx, deps, {
        ...{ workspaceId, name, ...nativeDocument(document, format), environmentId, values, authorize },
      });
      return { plan: presentPlan(plan), document: body.template === undefined ? null : document };
    },
  }),
  defineRoute('POST', `${COLLECTION}/import`, 'stack.import', {
    summary: 'Turn another file into a document',
    description:
      'Reads a file of Compose, Render, Heroku, Fly, Railway or Kamal, and lists what a document cannot say. Nothing is stored.',
    body: ImportBody,
    bodyLimit: STACK_BODY_LIMIT,
    example: { format: 'compose', document: 'services:\n  web:\n    image: nginx\n    ports: ["8080:80"]\n' },
    keyed: false,
    response: ImportResponse,
    handler: async ({ deps, body }) => {
      const { format, document, repository = '', folder = '', files = {} } = body;
      const imported = importFile(format, document, { repository, folder, files });
      return {
        document: presentDocument(imported, deps.config.publicUrl + STACK_SCHEMA_PATH),
        lost: imported.lost,
        notes: imported.notes,
      };
    },
  }),
  defineRoute('GET', '/workspaces/:workspaceId/environments/:environmentId/stack', 'stack.pull', {
    summary: 'Write an environment as a document',
    description:
      'Its plan against the environment is empty. A variable with a value is written as a secret, which keeps what it has.',
    response: PullResponse,
    handler: async ({ db, deps, params }) => {
      found(await findEnvironment(db, params.workspaceId, params.environmentId));
      const pulled = pullStack(await readEnvironmentState(db, deps.keyring, params));
      const { warnings } = pulled;
      return { document: presentDocument(pulled, deps.config.publicUrl + STACK_SCHEMA_PATH), warnings };
    },
  }),
];

/**
 * Returns the document to plan, and the values of its secrets. Both come from the request, or from the template that
 * the request names. The template's placeholders are replaced by `values`. Throws invalid_request.
 */
async function documentToPlan(
  db: Db,
  { publicUrl }: Config,
  workspaceId: string,
  { document, template, format, values = {} }: Static<typeof PlanBody>,
): Promise<{ document: string; values: Record<string, string> }> {
  if (template === undefined) {
    if (document === undefined) throw invalidRequest('/document', 'is needed, or a template');
    return { document, values };
  }
  if (document !== undefined) throw invalidRequest('/template', 'cannot be given beside a document');
  if (format !== undefined) throw invalidRequest('/format', 'is that of a document, and a template is given');
  const known = await findTemplate(db, workspaceId, template);
  if (known === undefined)
    throw invalidRequest('/template', 'is no template: GET /workspaces/{workspaceId}/templates lists them');
  const filled = fillTemplate(known, values);
  return { document: withSchema(textOf(filled.document), publicUrl + STACK_SCHEMA_PATH), values: filled.secrets };
}
