import type { Config } from '../core/config.js';
import { type Db, lockUntilCommit, type Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import { isRouted } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import { assertRoomFor } from '../workspaces/workspace-limits.js';
import {
  type DomainRow,
  HostnameError,
  judgeDomain,
  type Observation,
  parseHostname,
  parseRedirectTarget,
} from './model.js';
import {
  deleteDomain,
  holderOf,
  insertDomain,
  isTaken,
  lockDomain,
  recordRedirect,
  recordVerdict,
  redirectBeside,
} from './store.js';

/** Returns the host names of the platform itself, which no service may use. */
export function platformNames({
  edgeDomain,
  publicUrl,
  apiHosts,
}: Pick<Config, 'edgeDomain' | 'publicUrl' | 'apiHosts'>) {
  return [edgeDomain, new URL(publicUrl).hostname, ...apiHosts];
}

/** Adds an unverified host name. Throws invalid_request, conflict, service_archived, capacity_exceeded. */
export async function addDomain(
  trx: Transaction,
  { service, hostname, own }: { service: ServiceRow; hostname: string; own: readonly string[] },
): Promise<DomainRow> {
  if (service.archived) throw new AppError('service_archived');
  if (!isRouted(service.kind)) {
    throw conflict(`A service of kind ${service.kind} has no visitors: only web and static services have domains`);
  }
  const name = parsed(parseHostname, hostname, own, '/hostname');
  await assertRoomFor(trx, 'domains', service.id);
  const row = await insertDomain(trx, { workspace_id: service.workspace_id, service_id: service.id, hostname: name });
  if (row !== undefined) return row;
  const holder = await holderOf(trx, service.workspace_id, name);
  throw conflict(`The service ${holder ?? 'that was just changed'} of this workspace has ${name} already`);
}

function parsed(parse: typeof parseHostname, hostname: string, own: readonly string[], path: string): string {
  try {
    return parse(hostname, own);
  } catch (error) {
    if (error instanceof HostnameError) throw invalidRequest(path, error.message);
    throw error;
  }
}

/**
 * Redirects all requests for a domain to another host; null removes the redirect. The caller must have locked the
 * domain's row. Throws invalid_request if redirects would form a chain.
 */
export async function redirectDomain(
  trx: Transaction,
  domain: DomainRow,
  { to, own }: { to: string | null; own: readonly string[] },
): Promise<DomainRow> {
  const target = to === null ? null : parsed(parseRedirectTarget, to, own, '/redirectTo');
  if (target === domain.redirect_to) return domain;
  if (target === domain.hostname) throw invalidRequest('/redirectTo', 'is the domain itself');
  if (target !== null) {
    // Serializes changes in a workspace, so that the second of two concurrent requests sees the first one's redirect.
    await lockUntilCommit(trx, `redirects of ${domain.workspace_id}`);
    const other = await redirectBeside(trx, domain, target);
    if (other !== null) throw invalidRequest('/redirectTo', `makes a chain of redirects: ${other} redirects already`);
  }
  return recordRedirect(trx, domain, target);
}

/** Removes a domain from a service. Returns the deleted domain; undefined if the service does not have it. */
export async function removeDomain(trx: Transaction, serviceId: string, id: string): Promise<DomainRow | undefined> {
  const domain = await lockDomain(trx, serviceId, id);
  if (domain !== undefined) await deleteDomain(trx, domain);
  return domain;
}

/**
 * Records the result of a DNS check. Returns the domain; undefined if it was deleted. If a service of another workspace
 * serves the host name, that service keeps it.
 */
export async function applyObservation(
  db: Db,
  { service_id, id }: Pick<DomainRow, 'service_id' | 'id'>,
  seen: Observation,
  now: Date,
): Promise<DomainRow | undefined> {
  return db.transaction(async (trx) => {
    const domain = await lockDomain(trx, service_id, id);
    if (domain === undefined) return undefined;
    const verdict = judgeDomain(domain, seen, now);
    if (verdict.status === 'pending' || domain.status === 'active') return recordVerdict(trx, domain, verdict);
    // If two workspaces prove the ownership of one name at once, the second waits here until the first has the name.
    await lockUntilCommit(trx, `domain ${domain.hostname}`);
    if (!(await isTaken(trx, domain))) return recordVerdict(trx, domain, verdict);
    const detail = `${domain.hostname} belongs to a service of another workspace, which has to remove it first`;
    return recordVerdict(trx, domain, { ...verdict, status: 'pending', detail });
  });
}
