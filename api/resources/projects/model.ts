export const PROJECT_COLORS = ['violet', 'blue', 'cyan', 'green', 'yellow', 'orange', 'red', 'pink', 'gray'] as const;
export type ProjectColor = (typeof PROJECT_COLORS)[number];

/** The environment with which every project is created (specification, Projects). */
export const FIRST_ENVIRONMENT = 'Production';

/** A row as pg returns it. Comments on columns are in the migrations. */
export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  description: string;
  color: ProjectColor;
  created_at: Date;
  updated_at: Date;
}

export interface EnvironmentRow {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  protected: boolean;
  created_at: Date;
  updated_at: Date;
}

export interface EnvironmentGroupRow {
  id: string;
  workspace_id: string;
  environment_id: string | null;
  name: string;
  created_at: Date;
  updated_at: Date;
}
