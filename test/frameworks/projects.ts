import { LARGER_PROJECTS } from './larger-projects.js';
import { LIBRARY_PROJECTS } from './library-projects.js';
import { MONOREPO_PROJECTS } from './monorepo-projects.js';
import { NX_PROJECTS } from './nx-projects.js';
import { PAGE_PROJECTS } from './page-projects.js';
import type { FrameworkProject } from './project.js';
import { RENDERED_PROJECTS } from './rendered-projects.js';
import { SERVER_PROJECTS } from './server-projects.js';
import { SITE_PROJECTS } from './site-projects.js';
import { START_PROJECTS } from './start-projects.js';
import { WORKSPACE_PROJECTS } from './workspace-projects.js';

export const PROJECTS: readonly FrameworkProject[] = [
  ...SITE_PROJECTS,
  ...PAGE_PROJECTS,
  ...SERVER_PROJECTS,
  ...RENDERED_PROJECTS,
  ...LARGER_PROJECTS,
  ...LIBRARY_PROJECTS,
  ...START_PROJECTS,
  ...MONOREPO_PROJECTS,
  ...WORKSPACE_PROJECTS,
  ...NX_PROJECTS,
];
