import { expect } from 'chai';
import type { ReadRoute, WriteRoute } from '../../api/http/route.js';
import { ROUTES } from '../../api/resources/index.js';
import { POLICIES, type Role, refusal } from '../../shared/identity/policy.js';
import { expectError, type Member, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

type Needs =
  | 'member'
  | 'member writes'
  | 'member in a session'
  | 'developer'
  | 'developer, or admin if protected'
  | 'admin reads'
  | 'admin'
  | 'admin in a session';

/** Who may call each route. All routes except GET are writes, which need a write key, or a session. */
const NEEDS: Record<string, Needs> = {
  'GET /catalog': 'member',
  'GET /templates': 'member',
  'GET /templates/:templateName': 'member',
  'POST /workspaces/:workspaceId/templates/:templateName/fill': 'developer',
  'GET /workspaces/:workspaceId/templates': 'member',
  'GET /workspaces/:workspaceId/templates/:templateName': 'member',
  'GET /workspaces/:workspaceId/template-sources': 'member',
  'POST /workspaces/:workspaceId/template-sources': 'developer',
  'POST /workspaces/:workspaceId/template-sources/:templateSourceId/refresh': 'developer',
  'DELETE /workspaces/:workspaceId/template-sources/:templateSourceId': 'developer',
  'GET /workspaces': 'member',
  'GET /workspaces/:workspaceId': 'member',
  'PATCH /workspaces/:workspaceId': 'admin',
  'GET /workspaces/:workspaceId/deploy-key': 'member',
  'DELETE /workspaces/:workspaceId/deploy-key/hosts/:hostId': 'admin',
  'GET /workspaces/:workspaceId/webhooks': 'member',
  'POST /workspaces/:workspaceId/webhooks': 'admin',
  'DELETE /workspaces/:workspaceId/webhooks/:webhookId': 'admin',
  'GET /workspaces/:workspaceId/alerts': 'member',
  'POST /workspaces/:workspaceId/alerts': 'developer',
  'GET /workspaces/:workspaceId/alerts/:alertId': 'member',
  'PATCH /workspaces/:workspaceId/alerts/:alertId': 'developer',
  'DELETE /workspaces/:workspaceId/alerts/:alertId': 'developer',
  'GET /workspaces/:workspaceId/drains': 'member',
  'POST /workspaces/:workspaceId/drains': 'admin',
  'GET /workspaces/:workspaceId/drains/:drainId': 'member',
  'DELETE /workspaces/:workspaceId/drains/:drainId': 'admin',
  'GET /workspaces/:workspaceId/projects': 'member',
  'POST /workspaces/:workspaceId/projects': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/projects/:projectId': 'member',
  'PATCH /workspaces/:workspaceId/projects/:projectId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/projects/:projectId': 'admin',
  'POST /workspaces/:workspaceId/projects/:projectId/environments': 'developer, or admin if protected',
  'PATCH /workspaces/:workspaceId/projects/:projectId/environments/:environmentId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/projects/:projectId/environments/:environmentId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services': 'member',
  'POST /workspaces/:workspaceId/services': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId': 'member',
  'PATCH /workspaces/:workspaceId/services/:serviceId': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/archive': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/restore': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/services/:serviceId': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/actions': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/deploys': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/deploys': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/deploys': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId/snapshot': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId/canary': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId/promote': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId/cancel': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/deploys/:deploymentId/rollback':
    'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/runs': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/runs': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/runs/:runId': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/runs/:runId/cancel': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/credentials': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/shells': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/recordings': 'admin reads',
  'GET /workspaces/:workspaceId/services/:serviceId/recordings/:recordingId': 'admin reads',
  'POST /workspaces/:workspaceId/services/:serviceId/tunnels': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/volumes': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/volumes': 'developer, or admin if protected',
  'PATCH /workspaces/:workspaceId/services/:serviceId/volumes/:volumeId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/services/:serviceId/volumes/:volumeId': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/stacks/import': 'developer',
  'POST /workspaces/:workspaceId/stacks/plan': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/environments/:environmentId/stack': 'member',
  'GET /workspaces/:workspaceId/stacks': 'member',
  'GET /workspaces/:workspaceId/stacks/:stackName': 'member',
  'DELETE /workspaces/:workspaceId/stacks/:stackName': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/stacks/:stackName/apply': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/stacks/:stackName/rollback': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/stacks/:stackName/applies': 'member',
  'GET /workspaces/:workspaceId/stacks/:stackName/applies/:applyId': 'member',
  'POST /workspaces/:workspaceId/stacks/:stackName/applies/:applyId/cancel': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/backups': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/backups': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/backups/:backupId': 'member',
  'DELETE /workspaces/:workspaceId/services/:serviceId/backups/:backupId': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/backups/:backupId/restore': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/hooks': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/hooks': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/hooks/:hookId': 'member',
  'PATCH /workspaces/:workspaceId/services/:serviceId/hooks/:hookId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/services/:serviceId/hooks/:hookId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/operations': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/operations/:operationId': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/variables': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/variables': 'developer, or admin if protected',
  'PUT /workspaces/:workspaceId/services/:serviceId/variables': 'developer, or admin if protected',
  'PATCH /workspaces/:workspaceId/services/:serviceId/variables/:variableId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/services/:serviceId/variables/:variableId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/environment-groups': 'member',
  'POST /workspaces/:workspaceId/environment-groups': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/environment-groups/:groupId': 'member',
  'PATCH /workspaces/:workspaceId/environment-groups/:groupId': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/environment-groups/:groupId': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/environment-groups/:groupId/services': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/environment-groups/:groupId/services/:serviceId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/environment-groups/:groupId/variables': 'member',
  'POST /workspaces/:workspaceId/environment-groups/:groupId/variables': 'developer, or admin if protected',
  'PUT /workspaces/:workspaceId/environment-groups/:groupId/variables': 'developer, or admin if protected',
  'PATCH /workspaces/:workspaceId/environment-groups/:groupId/variables/:variableId':
    'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/environment-groups/:groupId/variables/:variableId':
    'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/logs': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/previews': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/previews': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/previews/:previewId': 'member',
  'DELETE /workspaces/:workspaceId/services/:serviceId/previews/:previewId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/pull-requests': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/pull-requests/:pullRequestId/approve':
    'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/pull-requests/:pullRequestId/decline':
    'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/metrics': 'member',
  'GET /workspaces/:workspaceId/services/:serviceId/domains': 'member',
  'POST /workspaces/:workspaceId/services/:serviceId/domains': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/services/:serviceId/domains/:domainId/verify': 'developer, or admin if protected',
  'DELETE /workspaces/:workspaceId/services/:serviceId/domains/:domainId': 'developer, or admin if protected',
  'PATCH /workspaces/:workspaceId/services/:serviceId/domains/:domainId': 'developer, or admin if protected',
  'GET /workspaces/:workspaceId/services/:serviceId/rules': 'member',
  'PUT /workspaces/:workspaceId/services/:serviceId/rules': 'developer, or admin if protected',
  'POST /workspaces/:workspaceId/detect': 'developer',
  'GET /workspaces/:workspaceId/canvas': 'member',
  'PATCH /workspaces/:workspaceId/canvas': 'developer',
  'GET /workspaces/:workspaceId/members': 'member',
  'POST /workspaces/:workspaceId/members': 'admin in a session',
  'PATCH /workspaces/:workspaceId/members/:memberId': 'admin in a session',
  'DELETE /workspaces/:workspaceId/members/:memberId': 'admin',
  'GET /workspaces/:workspaceId/invitations': 'admin reads',
  'POST /workspaces/:workspaceId/invitations': 'admin in a session',
  'DELETE /workspaces/:workspaceId/invitations/:invitationId': 'admin',
  'GET /workspaces/:workspaceId/sign-in': 'admin reads',
  'PUT /workspaces/:workspaceId/sign-in': 'admin in a session',
  'GET /workspaces/:workspaceId/keys': 'member',
  'POST /workspaces/:workspaceId/keys': 'member in a session',
  'DELETE /workspaces/:workspaceId/keys/:keyId': 'member writes',
  'GET /workspaces/:workspaceId/audit': 'admin reads',
};

const EVERY_ROLE: Role[] = ['viewer', 'developer', 'admin', 'owner'];
const ALLOWED: Record<Needs, { open: Role[]; protected: Role[] }> = {
  member: { open: EVERY_ROLE, protected: EVERY_ROLE },
  'member writes': { open: EVERY_ROLE, protected: EVERY_ROLE },
  'member in a session': { open: EVERY_ROLE, protected: EVERY_ROLE },
  developer: { open: ['developer', 'admin', 'owner'], protected: ['developer', 'admin', 'owner'] },
  'developer, or admin if protected': { open: ['developer', 'admin', 'owner'], protected: ['admin', 'owner'] },
  'admin reads': { open: ['admin', 'owner'], protected: ['admin', 'owner'] },
  admin: { open: ['admin', 'owner'], protected: ['admin', 'owner'] },
  'admin in a session': { open: ['admin', 'owner'], protected: ['admin', 'owner'] },
};
const NOTHING = '00000000-0000-4000-8000-000000000000';
const REPOSITORY = 'https://github.com/example/app';

const routes = ROUTES.filter((route): route is ReadRoute | WriteRoute => route.access === 'key or session');
const nameOf = ({ method, path }: ReadRoute | WriteRoute) => `${method} ${path}`;

const isRead = (route: ReadRoute | WriteRoute) => ['member', 'admin reads'].includes(needsOf(route));
const needsSession = (route: ReadRoute | WriteRoute) => needsOf(route).endsWith('in a session');

function needsOf(route: ReadRoute | WriteRoute): Needs {
  const needs = NEEDS[nameOf(route)];
  if (!needs) throw new Error(`${nameOf(route)} is not in the table`);
  return needs;
}

describe('Policies', () => {
  it('the table has every route that accepts a key, once', () => {
    expect(routes.map(nameOf)).to.have.members(Object.keys(NEEDS));
  });

  it('every operation is some route’s', () => {
    const used = routes.map(({ operation }) => operation);
    expect(Object.keys(POLICIES)).to.have.members([...new Set(used)]);
  });

  it('more rights never refuse what fewer permit', () => {
    const facts = { scope: 'write', emailVerified: true, mfaMissing: false } as const;
    for (const route of routes) {
      const allowed = ALLOWED[needsOf(route)];
      for (const role of EVERY_ROLE) {
        const what = `${nameOf(route)} as ${role}`;
        const open = refusal(route.operation, { ...facts, role });
        expect(open, what).to.equal(allowed.open.includes(role) ? null : 'forbidden');
        const inProtected = refusal(route.operation, { ...facts, role, protectedEnvironment: true });
        expect(inProtected, `${what}, protected`).to.equal(allowed.protected.includes(role) ? null : 'forbidden');
      }
    }
  });

  it('a read key, an unverified address and a missing second factor stop every write and no read', () => {
    const owner = { role: 'owner', scope: 'write', emailVerified: true, mfaMissing: false } as const;
    for (const route of routes) {
      const reads = isRead(route);
      const what = nameOf(route);
      expect(refusal(route.operation, { ...owner, scope: 'read' }), what).to.equal(reads ? null : 'forbidden');
      const unverified = refusal(route.operation, { ...owner, emailVerified: false });
      expect(unverified, what).to.equal(reads ? null : 'email_unverified');
      expect(refusal(route.operation, { ...owner, mfaMissing: true }), what).to.equal(reads ? null : 'mfa_required');
    }
  });

  it('a key gives nobody access: what does needs a session', () => {
    const owner = { role: 'owner', scope: 'write', emailVerified: true, mfaMissing: false, withKey: true } as const;
    for (const route of routes) {
      const code = needsSession(route) ? 'forbidden' : null;
      expect(refusal(route.operation, owner), nameOf(route)).to.equal(code);
    }
  });

  it('a caller who is no member can neither read nor write', () => {
    const stranger = { role: null, scope: 'write', emailVerified: true, mfaMissing: false } as const;
    for (const route of routes) {
      const code = isRead(route) ? 'not_found' : 'forbidden';
      expect(refusal(route.operation, stranger), nameOf(route)).to.equal(code);
    }
  });

  describe('over HTTP, on every route', () => {
    let api: TestApi;
    let ids: Record<string, string>;
    const members = new Map<Role, Member>();

    useTestApi(async (given) => {
      let workspace: TestWorkspace;
      ({ api, workspace } = given);
      for (const role of EVERY_ROLE) members.set(role, await workspace.member(role));
      const { client } = workspace.owner;
      const service = await newService(client, workspace.path, { configuration: { repository: REPOSITORY } });
      const deploys = `${workspace.path}/services/${service.id}/deploys`;
      const { deployment } = (await client.post(deploys)).body;
      const { project } = (await client.post(`${workspace.path}/projects`, { name: 'One', color: 'blue' })).body;
      const { environmentGroup } = (await client.post(`${workspace.path}/environment-groups`, { name: 'One' })).body;
      ids = {
        workspaceId: workspace.id,
        serviceId: service.id,
        deploymentId: deployment.id,
        projectId: project.id,
        environmentId: project.environments[0].id,
        groupId: environmentGroup.id,
        variableId: NOTHING,
        operationId: NOTHING,
        runId: NOTHING,
        recordingId: NOTHING,
        backupId: NOTHING,
        volumeId: NOTHING,
        stackName: 'none',
        templateName: 'node-red',
        applyId: NOTHING,
        hookId: NOTHING,
        hostId: NOTHING,
        webhookId: NOTHING,
        alertId: NOTHING,
        drainId: NOTHING,
        domainId: NOTHING,
        previewId: NOTHING,
        pullRequestId: NOTHING,
        templateSourceId: NOTHING,
        memberId: NOTHING,
        keyId: NOTHING,
        invitationId: NOTHING,
      };
    });

    const pathOf = ({ path }: ReadRoute | WriteRoute) => path.replace(/:(\w+)/g, (_, name) => ids[name] ?? name);

    /** Every write refuses this body, but only after it has authorized the caller. So nothing changes. */
    const UNKNOWN = { 'not a field': true };

    for (const route of routes) {
      it(nameOf(route), async () => {
        const needs = needsOf(route);
        const send = (client: Member['client']) =>
          route.method === 'GET' ? client.get(pathOf(route)) : client.send(route.method, pathOf(route), UNKNOWN);
        expectError(await send(api.client()), 401, 'unauthenticated');
        for (const role of EVERY_ROLE) {
          const member = members.get(role);
          if (!member) throw new Error('no member');
          const [written, read] = [await send(member.client), await send(member.reader)];
          const allowed = ALLOWED[needs].open.includes(role) && !needsSession(route);
          if (isRead(route) && allowed) {
            // Nothing was deployed or set up, so the workspace has none of these records.
            const status = /:(operationId|runId|recordingId|alertId|backupId|hookId|drainId|previewId|stackName)/.test(
              route.path,
            )
              ? 404
              : 200;
            expect([written.status, read.status], role).to.deep.equal([status, status]);
            continue;
          }
          expectError(read, 403, 'forbidden');
          if (allowed) expectError(written, 400, 'invalid_request');
          else expectError(written, 403, 'forbidden');
        }
      });
    }
  });
});
