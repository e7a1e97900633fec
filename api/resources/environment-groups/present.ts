import type { EnvironmentGroupView } from '../../../shared/groups/store.js';
import type { EnvironmentGroupPresentation } from './schema.js';

export function presentGroup(row: EnvironmentGroupView): EnvironmentGroupPresentation {
  return {
    id: row.id,
    name: row.name,
    environmentId: row.environment_id,
    serviceIds: row.service_ids,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
