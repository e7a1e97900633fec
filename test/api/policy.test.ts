import { expect } from 'chai';
import type { Route } from '../../api/route.js';
import { ROUTES } from '../../api/routes.js';
import { type OperationName, POLICIES, type Policy, refusal } from '../../shared/domain/policy.js';
import { hasRole, ROLES, type Role } from '../../shared/domain/roles.js';
import { expectError, type Member, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const ID = '00000000-0000-4000-8000-000000000000';

describe('Policies', () => {
  const routes = ROUTES.map((route): [string, Route] => [`${route.method} ${route.path}`, route]);

  it('every route names an operation of its own, reading where it is a GET', () => {
    expect(new Set(ROUTES.map(({ method, path }) => `${method} ${path}`)).size).to.equal(ROUTES.length);
    for (const [name, route] of routes) {
      expect(POLICIES[route.operation].access, name).to.equal(route.method === 'GET' ? 'read' : 'write');
      expect(route.read !== null, name).to.equal(route.method === 'GET');
    }
  });

  it('every operation is some route’s', () => {
    const used = new Set(ROUTES.map(({ operation }) => operation));
    expect(Object.keys(POLICIES).filter((name) => !used.has(name as OperationName))).to.deep.equal([]);
  });

  it('more rights never refuse what fewer permit', () => {
    const base = { scope: 'write', emailVerified: true, mfaMissing: false } as const;
    for (const operation of Object.keys(POLICIES) as OperationName[]) {
      const { role, protectedRole = role }: Policy = POLICIES[operation];
      for (const candidate of ROLES) {
        const open = refusal(operation, { ...base, role: candidate });
        expect(open, `${operation} ${candidate}`).to.equal(hasRole(candidate, role) ? null : 'forbidden');
        const guarded = refusal(operation, { ...base, role: candidate, protectedEnvironment: true });
        expect(guarded, `${operation} ${candidate}`).to.equal(hasRole(candidate, protectedRole) ? null : 'forbidden');
      }
    }
  });

  describe('over HTTP, on every route', () => {
    let api: TestApi;
    let workspace: TestWorkspace;
    let serviceId: string;
    const members = new Map<Role, Member>();

    useTestApi(async (given) => {
      ({ api, workspace } = given);
      for (const role of ROLES) members.set(role, await workspace.member(role));
      serviceId = (await newService(workspace.owner.client, workspace.path)).id;
    });

    /** The path with the workspace and the service in it; other ids name nothing. */
    function pathOf(route: Route): string {
      return route.path.replace(':workspaceId', workspace.id).replace(':serviceId', serviceId).replace(/:\w+/g, ID);
    }

    /** A body that every write refuses once it has let its caller through, so that the walk changes nothing. */
    const UNKNOWN = { 'not a field': true };

    for (const [name, route] of routes) {
      it(name, async () => {
        const path = pathOf(route);
        const send = (client: Member['client']) =>
          route.method === 'GET' ? client.get(path) : client.send(route.method, path, UNKNOWN);
        expectError(await send(api.client()), 401, 'unauthenticated');
        const policy: Policy = POLICIES[route.operation];
        for (const role of ROLES) {
          const member = members.get(role);
          if (!member) throw new Error('no member');
          const written = await send(member.client);
          const read = await send(member.reader);
          if (policy.access === 'read') {
            expect([200, 404], `${role} writes`).to.include(written.status);
            expect([200, 404], `${role} reads`).to.include(read.status);
            continue;
          }
          expectError(read, 403, 'forbidden');
          if (hasRole(role, policy.role)) expectError(written, 400, 'invalid_request');
          else expectError(written, 403, 'forbidden');
        }
      });
    }
  });
});
