import type { Route } from '../http/route.js';
import { actionRoutes } from './actions/routes.js';
import { alertRoutes } from './alerts/routes.js';
import { auditRoutes } from './audit/routes.js';
import { backupRoutes } from './backups/routes.js';
import { canvasRoutes } from './canvas/routes.js';
import { catalogRoutes } from './catalog/routes.js';
import { credentialRoutes } from './credentials/routes.js';
import { deployKeyRoutes } from './deploy-key/routes.js';
import { deploymentRoutes } from './deployments/routes.js';
import { detectionRoutes } from './detections/routes.js';
import { domainRoutes } from './domains/routes.js';
import { drainRoutes } from './drains/routes.js';
import { environmentGroupRoutes } from './environment-groups/routes.js';
import { environmentRoutes } from './environments/routes.js';
import { hookRoutes } from './hooks/routes.js';
import { invitationRoutes } from './invitations/routes.js';
import { keyRoutes } from './keys/routes.js';
import { logRoutes } from './logs/routes.js';
import { memberRoutes } from './members/routes.js';
import { metricRoutes } from './metrics/routes.js';
import { operationRoutes } from './operations/routes.js';
import { pullRoutes } from './previews/pull-routes.js';
import { previewRoutes } from './previews/routes.js';
import { projectRoutes } from './projects/routes.js';
import { recordingRoutes } from './recordings/routes.js';
import { ruleRoutes } from './rules/routes.js';
import { runRoutes } from './runs/routes.js';
import { serviceRoutes } from './services/routes.js';
import { sessionRoutes } from './session/routes.js';
import { shellRoutes } from './shells/routes.js';
import { signInRoutes } from './sign-in/routes.js';
import { stackRollbackRoute } from './stacks/rollback/rollback-route.js';
import { stackRoutes } from './stacks/routes.js';
import { stackRecordRoutes } from './stacks/stack-routes.js';
import { templateRoutes } from './stacks/templates/routes.js';
import { templateSourceRoutes } from './template-sources/routes.js';
import { tunnelRoutes } from './tunnels/routes.js';
import { groupVariableRoutes, variableRoutes } from './variables/routes.js';
import { volumeRoutes } from './volumes/routes.js';
import { webhookRoutes } from './webhooks/routes.js';
import { workspaceRoutes } from './workspaces/routes.js';

/** All routes: the versioned API in the specification's order, and then the session routes. */
export const ROUTES: readonly Route[] = [
  ...catalogRoutes,
  ...workspaceRoutes,
  ...deployKeyRoutes,
  ...webhookRoutes,
  ...alertRoutes,
  ...drainRoutes,
  ...projectRoutes,
  ...environmentRoutes,
  ...stackRoutes,
  ...stackRecordRoutes,
  stackRollbackRoute,
  ...templateRoutes,
  ...templateSourceRoutes,
  ...serviceRoutes,
  ...actionRoutes,
  ...deploymentRoutes,
  ...detectionRoutes,
  ...operationRoutes,
  ...runRoutes,
  ...shellRoutes,
  ...recordingRoutes,
  ...tunnelRoutes,
  ...credentialRoutes,
  ...hookRoutes,
  ...backupRoutes,
  ...volumeRoutes,
  ...variableRoutes,
  ...environmentGroupRoutes,
  ...groupVariableRoutes,
  ...logRoutes,
  ...previewRoutes,
  ...pullRoutes,
  ...domainRoutes,
  ...ruleRoutes,
  ...metricRoutes,
  ...canvasRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...signInRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...sessionRoutes,
];
