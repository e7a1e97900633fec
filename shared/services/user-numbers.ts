import { countOf, type Db, oneValue, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { AppError } from '../core/error-registry.js';

/** Hours until a deleted service's Linux user can be reused. Meanwhile, periodic sweeps remove the user's files. */
const REST_HOURS = 6;

/** The platform has 200,000 Linux users for services, of which each service has one. */
export const MAX_USERS_OF_WORKSPACE = 10_000;

/** Throws capacity_exceeded if the workspace has used up its share of the Linux users for services. */
export async function assertUserLeft(trx: Transaction, workspaceId: string): Promise<void> {
  const held = await countOf(
    trx,
    `select (select count(*) from services where workspace_id = :workspaceId and deleted_at is null)
          + (select count(*) from freed_user_numbers where workspace_id = :workspaceId and free_from > now()) as count`,
    { workspaceId },
  );
  if (held < MAX_USERS_OF_WORKSPACE) return;
  throw new AppError(
    'capacity_exceeded',
    `A workspace may have ${MAX_USERS_OF_WORKSPACE} services, and those deleted in the last ${REST_HOURS} hours count. ` +
      'Delete services that are not needed, then try again after these hours',
  );
}

/**
 * Frees the Linux user of a service that is about to be deleted. Another service gets this user once no file or process
 * of the old service remains.
 */
export async function freeUserNumber(trx: Transaction, serviceId: string): Promise<void> {
  await trx.raw(
    `insert into freed_user_numbers (number, service_id, workspace_id, untouched, free_from)
     select user_number, id, workspace_id, untouched, now() + case when untouched then interval '0' else interval '${REST_HOURS} hours' end
       from (select *, not exists (select from deployments d where d.service_id = s.id) as untouched from services s) s
      where id = ? and deleted_at is null
     on conflict (number) do update
       set (service_id, workspace_id, untouched, free_from)
         = (excluded.service_id, excluded.workspace_id, excluded.untouched, excluded.free_from)`,
    [serviceId],
  );
}

/**
 * Records that a host was searched for processes and files of services' Linux users. `look` searches the host and
 * returns the numbers of the users that it found. These users cannot be reused for the next six hours.
 */
export async function recordUsersInUse(db: Db, hostId: string, look: () => Promise<number[]>): Promise<void> {
  const began = await oneValue<string>(db, 'select now()::text');
  const found = await look();
  await db.transaction(async (trx) => {
    await trx.raw(
      `update freed_user_numbers set free_from = now() + interval '${REST_HOURS} hours', untouched = false where number = any(?)`,
      [found],
    );
    await trx.raw(
      `insert into user_number_hosts as h (host_id, looked_at) values (:hostId, :began)
       on conflict (host_id) do update set looked_at = greatest(h.looked_at, excluded.looked_at)`,
      { hostId, began },
    );
  });
}

/** Frees numbers of Linux users that no service has, for example after a failed request. Returns how many it freed. */
export function freeLostNumbers(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `insert into freed_user_numbers (number, free_from)
     select n, now() + interval '${REST_HOURS} hours'
       from service_user_numbers q, generate_series(1, case when q.is_called then q.last_value else 0 end) n
      where not exists (select from services s where s.user_number = n and s.deleted_at is null)
        and not exists (select from freed_user_numbers f where f.number = n)
     on conflict (number) do nothing`,
  );
}
