import { v7 as uuidv7 } from 'uuid';
import { anyRow, type Db, oneValue, returnedRow, rowsOf, type Transaction } from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import { publishRouteChange } from '../services/publish-route.js';
import type { DomainRow, DomainVerdict } from './model.js';

/** Days for which the host names of a deleted service are reserved for its workspace. */
const RESERVED_DAYS = 7;
/** Minutes after which a domain's DNS check is repeated, in case the worker that began it has crashed. */
const CLAIM_MINUTES = 10;

export function listDomains(db: Db, serviceId: string, page: PageRequest): Promise<Page<DomainRow>> {
  return pageOf<DomainRow>(db, 'domains', { service_id: serviceId, released_at: null }, page);
}

export async function findDomain(db: Db, id: string): Promise<DomainRow | undefined> {
  return db<DomainRow>('domains').where({ id }).whereNull('released_at').first();
}

/** Returns a domain of the service, locked until the commit. */
export async function lockDomain(trx: Transaction, serviceId: string, id: string): Promise<DomainRow | undefined> {
  return trx<DomainRow>('domains').where({ id, service_id: serviceId }).whereNull('released_at').forUpdate().first();
}

/** Returns the name of the workspace's service that has this host name; null if there is none. */
export function holderOf(db: Db, workspaceId: string, hostname: string): Promise<string | null> {
  return oneValue<string>(
    db,
    `select s.name from domains d join services s on s.id = d.service_id
      where d.workspace_id = ? and d.hostname = ? and d.released_at is null`,
    [workspaceId, hostname],
  );
}

export async function insertDomain(
  trx: Transaction,
  domain: Pick<DomainRow, 'workspace_id' | 'service_id' | 'hostname'>,
): Promise<DomainRow | undefined> {
  const [row] = await trx<DomainRow>('domains')
    .insert({ id: uuidv7(), ...domain })
    .onConflict(trx.raw('(workspace_id, hostname) where released_at is null'))
    .ignore()
    .returning('*');
  return row;
}

/** Returns true if the host name is served by, or still reserved for, another workspace. */
export function isTaken(trx: Transaction, domain: Pick<DomainRow, 'workspace_id' | 'hostname'>): Promise<boolean> {
  return anyRow(
    trx,
    `select from domains where hostname = ? and workspace_id <> ? and status = 'active'
        and (released_at is null or released_at > now() - make_interval(days => ${RESERVED_DAYS}))`,
    [domain.hostname, domain.workspace_id],
  );
}

/** Stores the result of a domain's DNS check. Notifies the edges if the result changes what they serve. */
export async function recordVerdict(trx: Transaction, before: DomainRow, verdict: DomainVerdict): Promise<DomainRow> {
  const row = await changeDomain(trx, before.id, verdict);
  if (row.status !== before.status || row.leads_here !== before.leads_here) {
    await publishRouteChange(trx, before.service_id);
  }
  return row;
}

/** Returns a domain whose redirect forms a chain with a redirect to `target`; null if there is none. */
export function redirectBeside(trx: Transaction, domain: DomainRow, target: string): Promise<string | null> {
  return oneValue<string>(
    trx,
    `select hostname from domains where workspace_id = ? and released_at is null and id <> ?
        and ((hostname = ? and redirect_to is not null) or redirect_to = ?) limit 1`,
    [domain.workspace_id, domain.id, target, domain.hostname],
  );
}

/** Stores the target of a domain's redirect, and notifies the edges. */
export async function recordRedirect(
  trx: Transaction,
  { id, service_id }: DomainRow,
  to: string | null,
): Promise<DomainRow> {
  const row = await changeDomain(trx, id, { redirect_to: to });
  await publishRouteChange(trx, service_id);
  return row;
}

async function changeDomain(trx: Transaction, id: string, changes: Partial<DomainRow>): Promise<DomainRow> {
  const [row] = await trx<DomainRow>('domains')
    .where({ id })
    .update({ ...changes, updated_at: trx.fn.now() })
    .returning('*');
  return returnedRow(row);
}

export async function deleteDomain(trx: Transaction, domain: DomainRow): Promise<void> {
  await trx<DomainRow>('domains').where({ id: domain.id }).delete();
  await publishRouteChange(trx, domain.service_id);
}

/** Reserves a deleted service's verified host names for its workspace. Deletes the unverified ones. */
export async function releaseDomains(trx: Transaction, serviceId: string): Promise<void> {
  await trx<DomainRow>('domains').where({ service_id: serviceId, status: 'pending' }).delete();
  await trx<DomainRow>('domains').where({ service_id: serviceId }).update({ released_at: trx.fn.now() });
}

/** Deletes host names whose reservation has expired. Returns their number. */
export async function deleteReleasedDomains(db: Db): Promise<number> {
  return db<DomainRow>('domains')
    .where('released_at', '<', db.raw(`now() - make_interval(days => ${RESERVED_DAYS})`))
    .delete();
}

/** Claims domains whose check is due, so that no other worker checks them at the same time. */
export async function claimDueDomains(db: Db, most: number): Promise<DomainRow[]> {
  return rowsOf<DomainRow>(
    db,
    `update domains set next_check_at = now() + make_interval(mins => ${CLAIM_MINUTES})
      where id in (select id from domains where released_at is null and next_check_at <= now()
                    order by next_check_at limit ? for update skip locked)
      returning *`,
    [most],
  );
}
