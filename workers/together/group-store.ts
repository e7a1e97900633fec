import { type Db, oneRow, returnedRow, type Transaction } from '../../shared/core/database/database-client.js';
import { DEFAULT_CONFIGURATION } from '../../shared/services/configuration.js';
import type { Group } from './decide-together.js';

const ms = (time: string) => `extract(epoch from ${time}) * 1000`;

/** Reads the deployments of an apply in one statement. */
export async function readGroup(db: Db, applyId: string): Promise<Group> {
  const group = await oneRow<Group>(
    db,
    `select a.status as "applyStatus", a.cancel_requested_at is not null as "applyCancelRequested",
            a.together_error as "givenUp", cast(${ms('clock_timestamp()')} as float8) as now,
            array(select p.name from stack_steps p
                   where p.apply_id = a.id and p.op in ('service.deploy', 'service.rollback') and p.status <> 'done'
                   order by p.position) as undeployed,
            coalesce((
              select jsonb_agg(jsonb_build_object(
                       'name', s.name, 'status', d.status, 'error', d.error, 'together', d.together_id is not null,
                       'admitted', d.admitted_at is not null, 'cancelRequested', d.cancel_requested_at is not null,
                       'ready', coalesce(i.manifest ->> 'type', '') <> 'process' or s.kind = 'cron'
                                or exists (select from replicas r where r.deployment_id = d.id and r.run_id is null
                                              and r.desired = 'running' and r.state = 'ready'),
                       'progressedAt', ${ms(`greatest(d.created_at, cast(d.steps -> -1 ->> 'startedAt' as timestamptz), d.prepared_at,
                                                      d.finished_at)`)},
                       'finishedAt', ${ms('d.finished_at')},
                       'limitMs', 1000 * case when s.kind = 'cron' then ${DEFAULT_CONFIGURATION.timeoutSeconds}
                                          else cast(d.configuration ->> 'timeoutSeconds' as float8) end) order by p.position)
                from stack_steps p join deployments d on d.id = p.deployment_id join services s on s.id = d.service_id
                left join images i on i.id = d.image_id
               where p.apply_id = a.id), '[]') as deployments
       from stack_applies a where a.id = :applyId`,
    { applyId },
  );
  return returnedRow(group);
}

/** Locks an apply, its services, then their deployments, until the commit. The API's commands use the same order. */
export async function lockGroup(trx: Transaction, applyId: string): Promise<void> {
  await trx.raw('select from stack_applies where id = :applyId for no key update', { applyId });
  await trx.raw(
    `select from services where id in (select service_id from deployments where together_id = :applyId)
      order by id for no key update`,
    { applyId },
  );
  await trx.raw('select from deployments where together_id = :applyId order by id for no key update', { applyId });
}

/** Records why none of an apply's deployments goes live, if no reason is recorded. No route may be moved after that. */
export async function giveUp(trx: Transaction, applyId: string, reason: string): Promise<void> {
  await trx.raw(`update stack_applies set together_error = :reason where id = :applyId and together_error = ''`, {
    applyId,
    reason,
  });
}
