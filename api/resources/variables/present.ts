import type { VariableView } from '../../../shared/variables/store.js';
import type { VariablePresentation } from './schema.js';

export function presentVariable(row: VariableView): VariablePresentation {
  return {
    id: row.id,
    key: row.key,
    kind: row.reference_service_id === null ? 'variable' : 'reference',
    scope: row.scope,
    configured: true,
    value: null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
