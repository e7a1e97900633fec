import { type Static, Type } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import { expiryOf } from '../../../shared/previews/model.js';
import type { PreviewView } from '../../../shared/previews/store.js';
import { PartialServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { SERVICE_STATUSES } from '../../../shared/services/model.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { described, Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { presentService } from '../services/present.js';

export const PreviewSchema = Strict(
  {
    id: Uuid,
    branch: Type.String(),
    /** Number of the branch's pull request; null if none is known. */
    pullRequest: Nullable(Type.Integer()),
    /** The service that runs the preview. The preview's deployments, logs and actions use this id. */
    serviceId: Uuid,
    url: Type.String(),
    status: oneOf('ServiceStatus', SERVICE_STATUSES),
    /** The preview's own databases, which are deleted with it. */
    databases: Type.Array(
      Strict({
        serviceId: Uuid,
        originalId: described(Uuid, 'The database in whose place it is'),
        backupId: Nullable(described(Uuid, 'The backup of the original that it begins with; null if it begins empty')),
        error: described(Type.String(), 'Why it was not deployed or not filled; empty if it was, or will be'),
      }),
    ),
    expiresAt: Timestamp,
    createdAt: Timestamp,
  },
  'Preview',
);
export type PreviewPresentation = Static<typeof PreviewSchema>;

export const PreviewResponse = Strict({ preview: PreviewSchema });
export const PreviewListResponse = Strict({ previews: Type.Array(PreviewSchema), page: PageSchema });

const { branch } = PartialServiceConfigurationSchema.properties;
export const CreatePreviewBody = Strict({ branch: Type.Required(Type.Object({ branch })).properties.branch });

/** Presents a preview of the service `base`. Its expiry is computed from the current `previewExpiryHours`. */
export function presentPreview(row: PreviewView, base: ServiceView, config: Config): PreviewPresentation {
  const { id, url, status, createdAt } = presentService(row, config);
  const expiresAt = expiryOf(row.preview_changed_at, base.configuration).toISOString();
  const { preview_branch: branch, preview_pull_number: pullRequest, preview_databases: databases } = row;
  return { id, branch, pullRequest, serviceId: id, url, status, databases, expiresAt, createdAt };
}
