import { actionRoutes } from './resources/actions/routes.js';
import { catalogRoutes } from './resources/catalog/routes.js';
import { deploymentRoutes } from './resources/deployments/routes.js';
import { logRoutes } from './resources/logs/routes.js';
import { operationRoutes } from './resources/operations/routes.js';
import { serviceRoutes } from './resources/services/routes.js';
import { variableRoutes } from './resources/variables/routes.js';
import { workspaceRoutes } from './resources/workspaces/routes.js';
import type { Route } from './route.js';

/** Every route of the versioned API, in the specification's order. */
export const ROUTES: readonly Route[] = [
  ...catalogRoutes,
  ...workspaceRoutes,
  ...serviceRoutes,
  ...actionRoutes,
  ...deploymentRoutes,
  ...operationRoutes,
  ...variableRoutes,
  ...logRoutes,
];
