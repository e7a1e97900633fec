import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';

/** Claims domains that an alert rule watches and whose certificate was not checked for an hour. */
export function claimCertificateChecks(db: Db, limit: number): Promise<{ id: string; hostname: string }[]> {
  return rowsOf(
    db,
    `with due as (
       select d.id from domains d
        where d.status = 'active' and d.leads_here and d.released_at is null
          and (d.certificate_checked_at is null or d.certificate_checked_at < now() - interval '1 hour')
          and exists (select from alert_rules r where r.metric = 'certificate' and r.workspace_id = d.workspace_id
                         and (r.service_id is null or r.service_id = d.service_id))
        order by d.certificate_checked_at nulls first limit :limit for update of d skip locked
     )
     update domains d set certificate_checked_at = now() from due where d.id = due.id returning d.id, d.hostname`,
    { limit },
  );
}

export async function recordCertificate(db: Db, domainId: string, until: Date): Promise<void> {
  await db('domains').where({ id: domainId }).update({ certificate_until: until });
}
