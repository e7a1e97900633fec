import type { Static } from 'typebox';
import { PREVIEW_DATABASES, previewDatabasesOf, setPreviewDatabases } from '../../../shared/previews/database-store.js';
import { assertNoPreview } from '../../../shared/pulls/preview-commands.js';
import { defineRoute } from '../../http/route.js';
import { described, oneOf, Strict } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';

const PATH = '/workspaces/:workspaceId/services/:serviceId/preview-settings';

const PreviewSettings = Strict({
  databases: described(
    oneOf('PreviewDatabases', PREVIEW_DATABASES),
    'Databases of previews: those of the service (shared), own ones that begin with the latest verified backup and are deleted with the preview, or none',
  ),
});
const PreviewSettingsResponse = Strict({ settings: PreviewSettings });
type Settings = Static<typeof PreviewSettings>;

/** Settings of a service that act on the next deployment of each of its previews. */
export const previewSettingsRoutes = [
  defineRoute({
    method: 'GET',
    path: PATH,
    operation: 'preview.settings',
    summary: 'Read the settings of previews',
    description: "Which databases the service's previews use.",
    response: PreviewSettingsResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      return { settings: { databases: await previewDatabasesOf(request.db, id) } satisfies Settings };
    },
  }),
  defineRoute({
    method: 'PUT',
    path: PATH,
    operation: 'preview.configure',
    summary: 'Set the settings of previews',
    description: "Sets which databases the service's previews use from their next deployments on.",
    errors: ['conflict'],
    body: PreviewSettings,
    response: PreviewSettingsResponse,
    handler: async (request) => {
      const service = await lockService(request);
      assertNoPreview(service, 'the settings');
      await setPreviewDatabases(request.trx, service.id, request.body.databases);
      return { settings: request.body };
    },
  }),
];
