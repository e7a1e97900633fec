export const PROJECT_COLORS = ['violet', 'blue', 'cyan', 'green', 'yellow', 'orange', 'red', 'pink', 'gray'] as const;
export type ProjectColor = (typeof PROJECT_COLORS)[number];

/** Name of the environment with which a project is created (specification, Projects). */
export const FIRST_ENVIRONMENT = 'Production';

/** A row as pg returns it. The migrations document the columns. */
export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  description: string;
  color: ProjectColor;
  created_at: Date;
  updated_at: Date;
}
