import { MONOREPO_PROJECTS } from './monorepo-projects.js';
import type { FrameworkProject } from './project.js';
import { SERVER_PROJECTS } from './server-projects.js';
import { SITE_PROJECTS } from './site-projects.js';
import { START_PROJECTS } from './start-projects.js';

/** All projects, in the order of their rows in docs/frameworks.md. */
export const PROJECTS: readonly FrameworkProject[] = [
  ...SITE_PROJECTS,
  ...SERVER_PROJECTS,
  ...START_PROJECTS,
  ...MONOREPO_PROJECTS,
];
