import type { Route } from '../http/route.js';
import { actionRoutes } from './actions/routes.js';
import { canvasRoutes } from './canvas/routes.js';
import { catalogRoutes } from './catalog/routes.js';
import { deploymentRoutes } from './deployments/routes.js';
import { detectionRoutes } from './detections/routes.js';
import { environmentGroupRoutes } from './environment-groups/routes.js';
import { environmentRoutes } from './environments/routes.js';
import { logRoutes } from './logs/routes.js';
import { operationRoutes } from './operations/routes.js';
import { projectRoutes } from './projects/routes.js';
import { runRoutes } from './runs/routes.js';
import { serviceRoutes } from './services/routes.js';
import { sessionRoutes } from './session/routes.js';
import { groupVariableRoutes, variableRoutes } from './variables/routes.js';
import { workspaceRoutes } from './workspaces/routes.js';

/** Every declared route: the versioned API in the specification's order, then a browser's session. */
export const ROUTES: readonly Route[] = [
  ...catalogRoutes,
  ...workspaceRoutes,
  ...projectRoutes,
  ...environmentRoutes,
  ...serviceRoutes,
  ...actionRoutes,
  ...deploymentRoutes,
  ...detectionRoutes,
  ...operationRoutes,
  ...runRoutes,
  ...variableRoutes,
  ...environmentGroupRoutes,
  ...groupVariableRoutes,
  ...logRoutes,
  ...canvasRoutes,
  ...sessionRoutes,
];
