import { type Db, rowsOf } from '../../../../shared/core/database/database-client.js';
import type { ApplyRow } from '../../../../shared/stacks/model.js';
import type { ServiceReleases } from './plan-rollback.js';

/** Returns a stack's services with their live releases now and after an apply. Includes deleted services. */
export function readReleases(db: Db, { id, stack_id, finished_at }: ApplyRow): Promise<ServiceReleases[]> {
  return rowsOf<ServiceReleases>(
    db,
    `with before as (
       select p.resource_id, p.op from stack_steps p join stack_applies a on a.id = p.apply_id
        where a.stack_id = :stackId and p.status = 'done' and p.op like 'service.%'
          and a.created_at <= (select created_at from stack_applies where id = :applyId)
     ), members as (
       select service_id as id from stack_resources where stack_id = :stackId and service_id is not null
       union
       select s.id from services s
        where s.id in (select resource_id from before) and s.id not in (select resource_id from before where op = 'service.delete')
          and (s.lifecycle_status = 'deleting' or s.deleted_at > :endedAt)
     )
     select s.id, s.name, s.kind, s.archived,
            case when s.deleted_at is null then s.lifecycle_status else 'deleted' end as lifecycle,
            exists (select from volumes v where v.service_id = s.id and v.removed_at is null) as "hasVolumes",
            s.live_deployment_id is not null as "isLive", past.id as "thenId",
            coalesce(past.image_id = live.image_id and past.snapshot_id = live.snapshot_id, false) as "isSame",
            coalesce(i.removed_at is null and i.id is not null, false) as "imageKept"
       from members m join services s on s.id = m.id
       left join deployments live on live.id = s.live_deployment_id
       left join lateral (
         select d.id, d.image_id, d.snapshot_id from deployments d
          where d.service_id = s.id and d.status = 'live' and d.went_live_at <= :endedAt
          order by d.went_live_at desc, d.number desc limit 1
       ) past on true
       left join images i on i.id = past.image_id
      order by s.name, s.id`,
    { stackId: stack_id, applyId: id, endedAt: finished_at },
  );
}
