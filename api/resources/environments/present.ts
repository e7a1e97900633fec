import type { EnvironmentRow } from '../../../shared/db/rows.js';
import type { EnvironmentPresentation } from './schema.js';

export function presentEnvironment(row: EnvironmentRow): EnvironmentPresentation {
  return {
    id: row.id,
    name: row.name,
    protected: row.protected,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
