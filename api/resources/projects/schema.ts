import { type Static, Type } from 'typebox';
import { plainText } from '../../../shared/core/plain-text.js';
import { present } from '../../http/present.js';
import { Name, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { EnvironmentSchema, presentEnvironment } from '../environments/schema.js';
import type { ProjectView } from './store.js';
import { PROJECT_COLORS } from './store.js';

const ProjectSchema = Strict(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    color: oneOf('ProjectColor', PROJECT_COLORS),
    environments: Type.Array(EnvironmentSchema),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Project',
);
export type ProjectPresentation = Static<typeof ProjectSchema>;

export function presentProject(row: ProjectView) {
  return present(ProjectSchema, row, { environments: row.environments.map(presentEnvironment) });
}

export const ProjectResponse = Strict({ project: ProjectSchema });
export const ProjectListResponse = Strict({ projects: Type.Array(ProjectSchema), page: Type.Optional(PageSchema) });

const Description = plainText(2000);

export const CreateProjectBody = Strict({
  name: Name,
  color: oneOf('ProjectColor', PROJECT_COLORS),
  description: Type.Optional(Description),
});
export const UpdateProjectBody = Strict({
  name: Type.Optional(Name),
  color: Type.Optional(oneOf('ProjectColor', PROJECT_COLORS)),
  description: Type.Optional(Description),
});
