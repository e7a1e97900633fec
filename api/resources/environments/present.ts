import type { EnvironmentRow } from '../../../shared/environments/store.js';
import type { EnvironmentPresentation, ReferencePresentation } from './schema.js';
import type { ReferenceInto } from './store.js';

export function presentEnvironment(row: EnvironmentRow): EnvironmentPresentation {
  return {
    id: row.id,
    name: row.name,
    protected: row.protected,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

export function presentReference(row: ReferenceInto): ReferencePresentation {
  return {
    key: row.key,
    from: { kind: row.from_kind, id: row.from_id, name: row.from_name },
    to: { serviceId: row.provider_id, name: row.provider_name, key: row.provider_key },
  };
}
