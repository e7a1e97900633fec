import {
  addDomain,
  applyObservation,
  platformNames,
  redirectDomain,
  removeDomain,
} from '../../../shared/domains/commands.js';
import { observeDomain } from '../../../shared/domains/name-servers.js';
import { findDomain, listDomains, lockDomain } from '../../../shared/domains/store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { presentDomain } from './present.js';
import { CreateDomainBody, DomainListResponse, DomainResponse, UpdateDomainBody } from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/domains';
const ONE = '/workspaces/:workspaceId/services/:serviceId/domains/:domainId';

/**
 * Custom domains of a service. Requests are routed to the service once a DNS record proves the ownership of the name.
 */
export const domainRoutes = [
  defineRoute({
    method: 'GET',
    path: COLLECTION,
    operation: 'domain.list',
    summary: 'List domains',
    description: "The service's domains, newest first.",
    query: PageQuery,
    response: DomainListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listDomains(request.db, id, pageRequest(request));
      return { domains: page.items.map(presentDomain), page: presentPage(request, page) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: COLLECTION,
    operation: 'domain.create',
    summary: 'Add a domain',
    description:
      'Adds a host name. The answer contains the TXT record that proves who owns the name. A name is unique in a workspace.',
    errors: ['conflict', 'service_archived', 'capacity_exceeded'],
    body: CreateDomainBody,
    status: 201,
    response: DomainResponse,
    handler: async (request) => {
      const service = await lockService(request);
      const { hostname, redirectTo = null } = request.body;
      const own = platformNames(request.deps.config);
      const row = await addDomain(request.trx, { service, hostname, own });
      return { domain: presentDomain(await redirectDomain(request.trx, row, { to: redirectTo, own })) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: ONE,
    operation: 'domain.update',
    summary: 'Redirect a domain',
    description:
      'Redirects all requests of the domain to another host name, or serves them again. The edges follow within a second.',
    body: UpdateDomainBody,
    example: { redirectTo: 'www.example.com' },
    response: DomainResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      const domain = found(await lockDomain(request.trx, id, request.params.domainId));
      const redirect = { to: request.body.redirectTo, own: platformNames(request.deps.config) };
      return { domain: presentDomain(await redirectDomain(request.trx, domain, redirect)) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: `${ONE}/verify`,
    operation: 'domain.verify',
    summary: 'Verify a domain',
    description: 'Queries the name servers for the TXT record now.',
    response: DomainResponse,
    keyed: false,
    handler: async (request) => {
      const { id } = await lockService(request);
      const domain = found(await lockDomain(request.trx, id, request.params.domainId));
      return { pending: domain.id };
    },
    complete: async (domainId, request) => {
      const { db, deps } = request;
      const domain = found(await findDomain(db, domainId));
      const seen = await observeDomain(deps.config, domain);
      return { domain: presentDomain(found(await applyObservation(db, domain, seen, new Date()))) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: ONE,
    operation: 'domain.delete',
    summary: 'Delete a domain',
    description: 'Removes a host name, which is then no longer served and can be added by others.',
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      found(await removeDomain(request.trx, id, request.params.domainId));
      return { deleted: true } as const;
    },
  }),
];
