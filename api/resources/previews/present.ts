import type { Config } from '../../../shared/core/config.js';
import { expiryOf } from '../../../shared/previews/model.js';
import type { PreviewView } from '../../../shared/previews/store.js';
import type { ServiceView } from '../../../shared/services/store.js';
import { presentService } from '../services/present.js';
import type { PreviewPresentation } from './schema.js';

/** Presents a preview of the service `base`. Its expiry is computed from the current `previewExpiryHours`. */
export function presentPreview(row: PreviewView, base: ServiceView, config: Config): PreviewPresentation {
  const { id, url, status, createdAt } = presentService(row, config);
  const expiresAt = expiryOf(row.preview_changed_at, base.configuration).toISOString();
  const { preview_branch: branch, preview_pull_number: pullRequest, preview_databases: databases } = row;
  return { id, branch, pullRequest, serviceId: id, url, status, databases, expiresAt, createdAt };
}
