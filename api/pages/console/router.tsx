import { type AnyRoute, createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { ServiceShell } from './pages/services/service-shell.js';
import { Home, NotFound, RouteFailed, RouteSkeleton } from './pages/start.js';
import { Gate, WorkspaceShell } from './pages/workspace-shell.js';

/** Returns a route whose page is loaded on demand, because the home page does not need the page's code. */
function page<const Parent extends AnyRoute, const Path extends string, Module extends Record<string, unknown>>(
  parent: Parent,
  path: Path,
  load: () => Promise<Module>,
  component: keyof Module & string,
) {
  return createRoute({ getParentRoute: () => parent, path, component: lazyRouteComponent(load, component) });
}

const root = createRootRoute({ component: Gate, notFoundComponent: NotFound, errorComponent: RouteFailed });
const workspace = createRoute({ getParentRoute: () => root, path: '/w/$workspaceId', component: WorkspaceShell });
const frame = page(workspace, '/settings', () => import('./pages/workspace/workspace-frame.js'), 'WorkspaceFrame');
const service = createRoute({ getParentRoute: () => workspace, path: '/s/$serviceId', component: ServiceShell });
const compare = createRoute({
  getParentRoute: () => service,
  path: '/compare',
  validateSearch: ({ a, b }: Record<string, unknown>): { a?: string; b?: string } => ({
    ...(typeof a === 'string' ? { a } : {}),
    ...(typeof b === 'string' ? { b } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/deployments/compare-page.js'), 'ComparePage'),
});

const framePages = frame.addChildren([
  page(frame, '/', () => import('./pages/workspace/workspace-page.js'), 'WorkspacePage'),
  page(frame, '/usage', () => import('./pages/workspace/usage-page.js'), 'UsagePage'),
  page(frame, '/members', () => import('./pages/workspace/members-page.js'), 'MembersPage'),
  page(frame, '/keys', () => import('./pages/workspace/keys-page.js'), 'KeysPage'),
  page(frame, '/groups', () => import('./pages/groups/groups-page.js'), 'GroupsPage'),
  page(frame, '/groups/$groupId', () => import('./pages/groups/group-page.js'), 'GroupPage'),
  page(frame, '/webhooks', () => import('./pages/hooks/webhooks-page.js'), 'WebhooksPage'),
  page(frame, '/alerts', () => import('./pages/alerts/alerts-page.js'), 'AlertsPage'),
  page(frame, '/deploy-key', () => import('./pages/workspace/deploy-key-page.js'), 'DeployKeyPage'),
  page(frame, '/audit', () => import('./pages/workspace/audit-page.js'), 'AuditPage'),
]);

const servicePages = service.addChildren([
  page(service, '/', () => import('./pages/deployments/deployments-page.js'), 'DeploymentsPage'),
  page(service, '/d/$deploymentId', () => import('./pages/deployments/deployment-page.js'), 'DeploymentPage'),
  compare,
  page(service, '/logs', () => import('./pages/logs/logs-page.js'), 'LogsPage'),
  page(service, '/variables', () => import('./pages/variables/variables-page.js'), 'VariablesPage'),
  page(service, '/metrics', () => import('./pages/metrics/metrics-page.js'), 'MetricsPage'),
  page(service, '/volumes', () => import('./pages/volumes/volumes-page.js'), 'VolumesPage'),
  page(service, '/domains', () => import('./pages/domains/domains-page.js'), 'DomainsPage'),
  page(service, '/previews', () => import('./pages/previews/previews-page.js'), 'PreviewsPage'),
  page(service, '/hooks', () => import('./pages/hooks/hooks-page.js'), 'HooksPage'),
  page(service, '/backups', () => import('./pages/backups/backups-page.js'), 'BackupsPage'),
  page(service, '/runs', () => import('./pages/runs/runs-page.js'), 'RunsPage'),
  page(service, '/runs/$runId', () => import('./pages/runs/run-page.js'), 'RunPage'),
  page(service, '/shell', () => import('./pages/shell/shell-page.js'), 'ShellPage'),
  page(service, '/settings', () => import('./pages/settings/settings-page.js'), 'SettingsPage'),
]);

const workspacePages = workspace.addChildren([
  page(workspace, '/', () => import('./pages/canvas/canvas-page.js'), 'CanvasPage'),
  page(workspace, '/services', () => import('./pages/services/services-page.js'), 'ServicesPage'),
  page(workspace, '/new', () => import('./pages/new/new-page.js'), 'NewPage'),
  page(workspace, '/templates', () => import('./pages/templates/templates-page.js'), 'TemplatesPage'),
  page(workspace, '/templates/$templateName', () => import('./pages/templates/template-page.js'), 'TemplatePage'),
  page(workspace, '/stacks', () => import('./pages/stacks/stacks-page.js'), 'StacksPage'),
  // Not /stacks/new, which would hide a stack named `new`.
  page(workspace, '/new/stack', () => import('./pages/stacks/plan-page.js'), 'NewStackPage'),
  page(workspace, '/stacks/$stackName', () => import('./pages/stacks/stack-page.js'), 'StackPage'),
  page(workspace, '/stacks/$stackName/plan', () => import('./pages/stacks/plan-page.js'), 'StackPlanPage'),
  page(workspace, '/stacks/$stackName/applies/$applyId', () => import('./pages/stacks/apply-page.js'), 'ApplyPage'),
  page(workspace, '/queue', () => import('./pages/queue/queue-page.js'), 'QueuePage'),
  framePages,
  page(workspace, '/account', () => import('./pages/account/account-page.js'), 'AccountPage'),
  servicePages,
]);

export const router = createRouter({
  routeTree: root.addChildren([
    createRoute({ getParentRoute: () => root, path: '/', component: Home }),
    createRoute({ getParentRoute: () => root, path: '/sign-in', component: Home }),
    createRoute({ getParentRoute: () => root, path: '/invitation', component: Home }),
    workspacePages,
  ]),
  defaultPreload: 'intent',
  defaultPendingMs: 150,
  defaultPendingComponent: RouteSkeleton,
  defaultErrorComponent: RouteFailed,
  scrollRestoration: true,
  scrollToTopSelectors: ['#main'],
  defaultNotFoundComponent: NotFound,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
