import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { ServiceShell } from './pages/services/service-shell.js';
import { Home, NotFound, RouteFailed, RouteSkeleton } from './pages/start.js';
import { Gate, WorkspaceShell } from './pages/workspace-shell.js';

/** The pages of the console. Code that the home page does not need is loaded with its route. */
const root = createRootRoute({ component: Gate, notFoundComponent: NotFound, errorComponent: RouteFailed });
const home = createRoute({ getParentRoute: () => root, path: '/', component: Home });
const signIn = createRoute({ getParentRoute: () => root, path: '/sign-in', component: Home });
const invitation = createRoute({ getParentRoute: () => root, path: '/invitation', component: Home });
const workspace = createRoute({ getParentRoute: () => root, path: '/w/$workspaceId', component: WorkspaceShell });

const canvas = createRoute({
  getParentRoute: () => workspace,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/canvas/canvas-page.js'), 'CanvasPage'),
});
const services = createRoute({
  getParentRoute: () => workspace,
  path: '/services',
  component: lazyRouteComponent(() => import('./pages/services/services-page.js'), 'ServicesPage'),
});
const create = createRoute({
  getParentRoute: () => workspace,
  path: '/new',
  component: lazyRouteComponent(() => import('./pages/new/new-page.js'), 'NewPage'),
});
const templates = createRoute({
  getParentRoute: () => workspace,
  path: '/templates',
  component: lazyRouteComponent(() => import('./pages/templates/templates-page.js'), 'TemplatesPage'),
});
const template = createRoute({
  getParentRoute: () => workspace,
  path: '/templates/$templateName',
  component: lazyRouteComponent(() => import('./pages/templates/template-page.js'), 'TemplatePage'),
});
const stacks = createRoute({
  getParentRoute: () => workspace,
  path: '/stacks',
  component: lazyRouteComponent(() => import('./pages/stacks/stacks-page.js'), 'StacksPage'),
});
// Not /stacks/new, which would hide a stack named `new`.
const newStack = createRoute({
  getParentRoute: () => workspace,
  path: '/new/stack',
  component: lazyRouteComponent(() => import('./pages/stacks/plan-page.js'), 'NewStackPage'),
});
const stack = createRoute({
  getParentRoute: () => workspace,
  path: '/stacks/$stackName',
  component: lazyRouteComponent(() => import('./pages/stacks/stack-page.js'), 'StackPage'),
});
const stackPlan = createRoute({
  getParentRoute: () => workspace,
  path: '/stacks/$stackName/plan',
  component: lazyRouteComponent(() => import('./pages/stacks/plan-page.js'), 'StackPlanPage'),
});
const stackApply = createRoute({
  getParentRoute: () => workspace,
  path: '/stacks/$stackName/applies/$applyId',
  component: lazyRouteComponent(() => import('./pages/stacks/apply-page.js'), 'ApplyPage'),
});
const queue = createRoute({
  getParentRoute: () => workspace,
  path: '/queue',
  component: lazyRouteComponent(() => import('./pages/queue/queue-page.js'), 'QueuePage'),
});
const frame = createRoute({
  getParentRoute: () => workspace,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/workspace/workspace-frame.js'), 'WorkspaceFrame'),
});
const settings = createRoute({
  getParentRoute: () => frame,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/workspace/workspace-page.js'), 'WorkspacePage'),
});
const members = createRoute({
  getParentRoute: () => frame,
  path: '/members',
  component: lazyRouteComponent(() => import('./pages/workspace/members-page.js'), 'MembersPage'),
});
const keys = createRoute({
  getParentRoute: () => frame,
  path: '/keys',
  component: lazyRouteComponent(() => import('./pages/workspace/keys-page.js'), 'KeysPage'),
});
const usage = createRoute({
  getParentRoute: () => frame,
  path: '/usage',
  component: lazyRouteComponent(() => import('./pages/workspace/usage-page.js'), 'UsagePage'),
});
const groups = createRoute({
  getParentRoute: () => frame,
  path: '/groups',
  component: lazyRouteComponent(() => import('./pages/groups/groups-page.js'), 'GroupsPage'),
});
const group = createRoute({
  getParentRoute: () => frame,
  path: '/groups/$groupId',
  component: lazyRouteComponent(() => import('./pages/groups/group-page.js'), 'GroupPage'),
});
const webhooks = createRoute({
  getParentRoute: () => frame,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./pages/hooks/webhooks-page.js'), 'WebhooksPage'),
});
const alerts = createRoute({
  getParentRoute: () => frame,
  path: '/alerts',
  component: lazyRouteComponent(() => import('./pages/alerts/alerts-page.js'), 'AlertsPage'),
});
const deployKey = createRoute({
  getParentRoute: () => frame,
  path: '/deploy-key',
  component: lazyRouteComponent(() => import('./pages/workspace/deploy-key-page.js'), 'DeployKeyPage'),
});
const audit = createRoute({
  getParentRoute: () => frame,
  path: '/audit',
  component: lazyRouteComponent(() => import('./pages/workspace/audit-page.js'), 'AuditPage'),
});

const account = createRoute({
  getParentRoute: () => workspace,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account-page.js'), 'AccountPage'),
});

const service = createRoute({ getParentRoute: () => workspace, path: '/s/$serviceId', component: ServiceShell });
const deployments = createRoute({
  getParentRoute: () => service,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/deployments/deployments-page.js'), 'DeploymentsPage'),
});
const deployment = createRoute({
  getParentRoute: () => service,
  path: '/d/$deploymentId',
  component: lazyRouteComponent(() => import('./pages/deployments/deployment-page.js'), 'DeploymentPage'),
});
const logs = createRoute({
  getParentRoute: () => service,
  path: '/logs',
  component: lazyRouteComponent(() => import('./pages/logs/logs-page.js'), 'LogsPage'),
});
const compare = createRoute({
  getParentRoute: () => service,
  path: '/compare',
  validateSearch: ({ a, b }: Record<string, unknown>): { a?: string; b?: string } => ({
    ...(typeof a === 'string' ? { a } : {}),
    ...(typeof b === 'string' ? { b } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/deployments/compare-page.js'), 'ComparePage'),
});
const variables = createRoute({
  getParentRoute: () => service,
  path: '/variables',
  component: lazyRouteComponent(() => import('./pages/variables/variables-page.js'), 'VariablesPage'),
});
const metrics = createRoute({
  getParentRoute: () => service,
  path: '/metrics',
  component: lazyRouteComponent(() => import('./pages/metrics/metrics-page.js'), 'MetricsPage'),
});
const volumes = createRoute({
  getParentRoute: () => service,
  path: '/volumes',
  component: lazyRouteComponent(() => import('./pages/volumes/volumes-page.js'), 'VolumesPage'),
});
const domains = createRoute({
  getParentRoute: () => service,
  path: '/domains',
  component: lazyRouteComponent(() => import('./pages/domains/domains-page.js'), 'DomainsPage'),
});
const previews = createRoute({
  getParentRoute: () => service,
  path: '/previews',
  component: lazyRouteComponent(() => import('./pages/previews/previews-page.js'), 'PreviewsPage'),
});
const hooks = createRoute({
  getParentRoute: () => service,
  path: '/hooks',
  component: lazyRouteComponent(() => import('./pages/hooks/hooks-page.js'), 'HooksPage'),
});
const backups = createRoute({
  getParentRoute: () => service,
  path: '/backups',
  component: lazyRouteComponent(() => import('./pages/backups/backups-page.js'), 'BackupsPage'),
});
const runs = createRoute({
  getParentRoute: () => service,
  path: '/runs',
  component: lazyRouteComponent(() => import('./pages/runs/runs-page.js'), 'RunsPage'),
});
const run = createRoute({
  getParentRoute: () => service,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('./pages/runs/run-page.js'), 'RunPage'),
});
const shell = createRoute({
  getParentRoute: () => service,
  path: '/shell',
  component: lazyRouteComponent(() => import('./pages/shell/shell-page.js'), 'ShellPage'),
});
const serviceSettings = createRoute({
  getParentRoute: () => service,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/settings-page.js'), 'SettingsPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    signIn,
    invitation,
    workspace.addChildren([
      canvas,
      services,
      create,
      templates,
      template,
      stacks,
      newStack,
      stack,
      stackPlan,
      stackApply,
      queue,
      frame.addChildren([settings, usage, members, keys, groups, group, webhooks, alerts, deployKey, audit]),
      account,
      service.addChildren([
        deployments,
        deployment,
        compare,
        logs,
        variables,
        metrics,
        volumes,
        domains,
        previews,
        hooks,
        backups,
        runs,
        run,
        shell,
        serviceSettings,
      ]),
    ]),
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
