import { PLANS } from '../domain/catalog.js';
import { type Db, rowsOf } from './client.js';

const CHUNK = 5000;

/** Deletes log lines past their service's plan (specification, Logs: `logDays`), some thousands at a time. Returns how many. */
export async function deleteExpiredLogs(db: Db): Promise<number> {
  const days = JSON.stringify(PLANS.map(({ id, logDays }) => ({ id, days: logDays })));
  const rows = await rowsOf<{ id: string }>(
    db,
    `delete from log_lines l using (
       select l.service_id, l.id
         from services s
         join jsonb_to_recordset(:days) as p(id text, days int) on p.id = s.configuration ->> 'plan'
         join lateral (
           select service_id, id from log_lines
            where service_id = s.id and logged_at < now() - p.days * interval '1 day' order by logged_at limit ${CHUNK}
         ) l on true
        limit ${CHUNK}
     ) old where l.service_id = old.service_id and l.id = old.id returning l.id`,
    { days },
  );
  return rows.length;
}

/** Forgets stopped replicas and closed books of workers that nobody asks for any more. */
export async function deleteOldReplicas(db: Db): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
    db,
    `delete from replicas where state = 'stopped' and stopped_at < now() - interval '1 day' returning id`,
  );
  return rows.length;
}
