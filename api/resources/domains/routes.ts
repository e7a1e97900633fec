import { type Static, Type } from 'typebox';
import {
  addDomain,
  applyObservation,
  platformNames,
  redirectDomain,
  removeDomain,
} from '../../../shared/domains/commands.js';
import { DOMAIN_STATUSES, type DomainRow, Hostname, proofOf } from '../../../shared/domains/model.js';
import { observeDomain } from '../../../shared/domains/name-servers.js';
import { findDomain, listDomains, lockDomain } from '../../../shared/domains/store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import {
  DeletedResponse,
  described,
  Nullable,
  oneOf,
  PageQuery,
  PageSchema,
  Strict,
  Timestamp,
  Uuid,
} from '../../http/schema.js';
import { lockService, readService } from '../services/find-service.js';

const DomainSchema = Strict(
  {
    id: Uuid,
    hostname: Type.String(),
    status: oneOf('DomainStatus', DOMAIN_STATUSES),
    /** The DNS record that the owner of the name must create. */
    verification: Strict({ type: Type.Literal('TXT'), name: Type.String(), value: Type.String() }),
    /** The result of the last check and what to do next; empty if there is nothing to do. */
    detail: Type.String(),
    /** Optional, because the specification does not have this field. */
    redirectTo: Type.Optional(Type.String({ description: 'The host name to which all requests are redirected' })),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Domain',
);
export type DomainPresentation = Static<typeof DomainSchema>;

function presentDomain(row: DomainRow) {
  const verification = proofOf(row.workspace_id, row.hostname);
  return present(DomainSchema, row, { verification, redirectTo: row.redirect_to ?? undefined });
}

const RedirectTo = Nullable(
  described(Hostname, 'one line: a host name. All requests are redirected to it; null ends that'),
);
const CreateDomainBody = Strict({ hostname: Hostname, redirectTo: Type.Optional(RedirectTo) });
const UpdateDomainBody = Strict({ redirectTo: RedirectTo });
const DomainResponse = Strict({ domain: DomainSchema });
const DomainListResponse = Strict({ domains: Type.Array(DomainSchema), page: PageSchema });

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/domains';
const ONE = '/workspaces/:workspaceId/services/:serviceId/domains/:domainId';

/** Custom domains of a service. They are routed once a DNS record proves who owns the name. */
export const domainRoutes = [
  defineRoute('GET', COLLECTION, 'domain.list', {
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
  defineRoute('POST', COLLECTION, 'domain.create', {
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
  defineRoute('PATCH', ONE, 'domain.update', {
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
  defineRoute('POST', `${ONE}/verify`, 'domain.verify', {
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
  defineRoute('DELETE', ONE, 'domain.delete', {
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
