import type { OperationRow } from '../../../shared/operations/model.js';
import type { OperationView } from './schema.js';

export function presentOperation(row: OperationRow): OperationView {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
