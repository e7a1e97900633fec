export const PROJECT_COLORS = ['violet', 'blue', 'cyan', 'green', 'yellow', 'orange', 'red', 'pink', 'gray'] as const;
export type ProjectColor = (typeof PROJECT_COLORS)[number];

/** The environment that every project is created with (specification, Projects). */
export const FIRST_ENVIRONMENT = 'Production';
