import { type Db, oneRow, rowsOf } from '../../shared/core/database/database-client.js';
import type { ServiceRow } from '../../shared/services/rows.js';
import { repositoryKey, stackNameOf } from '../../shared/stacks/pushed-commit.js';

/** A webhook of a service. Each push that it reports applies the `ranvier.yaml` of the pushed commit. */
export interface StackHook {
  id: string;
  /** The user who created the hook. */
  stack_by: string;
  /** True if that user was allowed to change protected environments when creating the hook. */
  reads_protected: boolean;
}

/** Returns the service's hook that applies a stack, preferably the hook that reported the push. */
export async function findStackHook(db: Db, serviceId: string, hookId: string | null): Promise<StackHook | null> {
  return oneRow<StackHook>(
    db,
    `select id, stack_by, reads_protected from hooks where service_id = :serviceId and stack_by is not null
      order by id = :hookId desc nulls last, reads_protected desc, created_at limit 1`,
    { serviceId, hookId },
  );
}

/** Returns the name of the stack that a service belongs to; null if it belongs to none. */
export async function stackOfService(db: Db, serviceId: string): Promise<string | null> {
  const sql =
    'select k.name from stack_resources r join stacks k on k.id = r.stack_id where r.service_id = ? and k.deleted_at is null';
  return (await oneRow<{ name: string }>(db, sql, [serviceId]))?.name ?? null;
}

/**
 * Returns the name of the stack whose apply deploys a service after a push; null if there is none. The service belongs
 * to this stack, and a hook of another service with the same repository and branch applies it.
 */
export async function stackThatDeploys(
  db: Db,
  { id, configuration: { repository, branch } }: Pick<ServiceRow, 'id' | 'configuration'>,
): Promise<string | null> {
  const hooked = await rowsOf<{ stack: string; applied: string | null; repository: string }>(
    db,
    `select k.name as stack, o.name as applied, a.configuration ->> 'repository' as repository
       from stack_resources r join stacks k on k.id = r.stack_id join services a on a.environment_id = k.environment_id
       left join stack_resources ar on ar.service_id = a.id left join stacks o on o.id = ar.stack_id
      where r.service_id = :id and a.id <> :id and a.id in (select service_id from hooks where stack_by is not null)
        and a.configuration ->> 'branch' = :branch and a.deleted_at is null and a.lifecycle_status <> 'deleting'
        and not a.archived`,
    { id, branch },
  );
  const found = hooked.find(
    ({ stack, applied, repository: other }) =>
      repositoryKey(other) === repositoryKey(repository) && (applied ?? stackNameOf(other)) === stack,
  );
  return found?.stack ?? null;
}
