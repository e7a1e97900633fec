import type { Config } from '../core/config.js';
import { type Db, lockUntilCommit, type Transaction } from '../core/database/database-client.js';
import { AppError, conflict, invalidRequest } from '../core/error-registry.js';
import { isRouted } from '../services/model.js';
import type { ServiceRow } from '../services/rows.js';
import { assertRoomFor } from '../workspaces/workspace-limits.js';
import { type DomainRow, HostnameError, judgeDomain, type Observation, parseHostname } from './model.js';
import { deleteDomain, holderOf, insertDomain, isTaken, lockDomain, recordVerdict } from './store.js';

/** Returns the host names of the platform itself, which no service can have. */
export function platformNames({
  edgeDomain,
  publicUrl,
  apiHosts,
}: Pick<Config, 'edgeDomain' | 'publicUrl' | 'apiHosts'>) {
  return [edgeDomain, new URL(publicUrl).hostname, ...apiHosts];
}

/**
 * Gives a service a host name. Nothing is served under it until its owner is verified.
 * Throws invalid_request, conflict, service_archived and capacity_exceeded.
 */
export async function addDomain(
  trx: Transaction,
  { service, hostname, own }: { service: ServiceRow; hostname: string; own: readonly string[] },
): Promise<DomainRow> {
  if (service.archived) throw new AppError('service_archived');
  if (!isRouted(service.kind)) {
    throw conflict(`A service of kind ${service.kind} has no visitors: only web and static services have domains`);
  }
  const name = parsed(hostname, own);
  await assertRoomFor(trx, 'domains', service.id);
  const row = await insertDomain(trx, { workspace_id: service.workspace_id, service_id: service.id, hostname: name });
  if (row !== undefined) return row;
  const holder = await holderOf(trx, service.workspace_id, name);
  throw conflict(`The service ${holder ?? 'that was just changed'} of this workspace has ${name} already`);
}

function parsed(hostname: string, own: readonly string[]): string {
  try {
    return parseHostname(hostname, own);
  } catch (error) {
    if (error instanceof HostnameError) throw invalidRequest('/hostname', error.message);
    throw error;
  }
}

/**
 * Removes the name from the service, so that another service can have it at once. Returns the deleted domain, if the
 * service has it.
 */
export async function removeDomain(trx: Transaction, serviceId: string, id: string): Promise<DomainRow | undefined> {
  const domain = await lockDomain(trx, serviceId, id);
  if (domain !== undefined) await deleteDomain(trx, domain);
  return domain;
}

/**
 * Records the name servers' answer about a domain, and returns the domain; undefined if it is gone.
 * If another workspace's service serves the name, that service keeps the name.
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
    // If two workspaces prove ownership of one name, the second waits here until the first has the name.
    await lockUntilCommit(trx, `domain ${domain.hostname}`);
    if (!(await isTaken(trx, domain))) return recordVerdict(trx, domain, verdict);
    const detail = `${domain.hostname} belongs to a service of another workspace, which has to remove it first`;
    return recordVerdict(trx, domain, { ...verdict, status: 'pending', detail });
  });
}
