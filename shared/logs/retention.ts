import { type Db, rowsOf } from '../core/database/client.js';
import { PLANS } from '../workspaces/catalog.js';

const CHUNK = 5000;

/** A run deletes for no longer than this; the next one goes on, a minute later. */
const RUN_MS = 20_000;

/**
 * Deletes log lines past their service's plan (specification, Logs: `logDays`), some thousands at a time. Returns how
 * many.
 */
export async function deleteExpiredLogs(db: Db): Promise<number> {
  const end = Date.now() + RUN_MS;
  let deleted = 0;
  for (;;) {
    const chunk = await deleteSomeLogs(db);
    deleted += chunk;
    if (chunk < CHUNK || Date.now() >= end) return deleted;
  }
}

async function deleteSomeLogs(db: Db): Promise<number> {
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
