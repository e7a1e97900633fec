import { presentEnvironment } from '../environments/present.js';
import type { ProjectPresentation } from './schema.js';
import type { ProjectView } from './store.js';

export function presentProject(row: ProjectView): ProjectPresentation {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    color: row.color,
    environments: row.environments.map(presentEnvironment),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
