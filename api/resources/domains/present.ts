import { type DomainRow, proofOf } from '../../../shared/domains/model.js';
import type { DomainView } from './schema.js';

export function presentDomain(row: DomainRow): DomainView {
  return {
    id: row.id,
    hostname: row.hostname,
    status: row.status,
    verification: proofOf(row.workspace_id, row.hostname),
    detail: row.detail,
    ...(row.redirect_to === null ? {} : { redirectTo: row.redirect_to }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
