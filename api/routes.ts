import { actionRoutes } from './resources/actions/routes.js';
import { canvasRoutes } from './resources/canvas/routes.js';
import { catalogRoutes } from './resources/catalog/routes.js';
import { deploymentRoutes } from './resources/deployments/routes.js';
import { environmentGroupRoutes } from './resources/environment-groups/routes.js';
import { environmentRoutes } from './resources/environments/routes.js';
import { logRoutes } from './resources/logs/routes.js';
import { operationRoutes } from './resources/operations/routes.js';
import { projectRoutes } from './resources/projects/routes.js';
import { serviceRoutes } from './resources/services/routes.js';
import { groupVariableRoutes, variableRoutes } from './resources/variables/routes.js';
import { workspaceRoutes } from './resources/workspaces/routes.js';
import type { Route } from './route.js';

/** The root of the versioned API (specification, Versioning), and where sessions live, outside it. */
export const API_ROOT = '/api/v1';
export const SESSION_ROOT = '/api';

/** Every route of the versioned API, in the specification's order. */
export const ROUTES: readonly Route[] = [
  ...catalogRoutes,
  ...workspaceRoutes,
  ...projectRoutes,
  ...environmentRoutes,
  ...serviceRoutes,
  ...actionRoutes,
  ...deploymentRoutes,
  ...operationRoutes,
  ...variableRoutes,
  ...environmentGroupRoutes,
  ...groupVariableRoutes,
  ...logRoutes,
  ...canvasRoutes,
];
