import type { Transaction } from '../../shared/core/database/database-client.js';
import { MAX_WAITING, type WebhookEvent } from '../../shared/webhooks/model.js';

/** An event that makes older events about the same subject obsolete. */
export interface NewestDelivery {
  workspaceId: string;
  event: WebhookEvent;
  /** Identifies what the event is about, such as an alert rule and a service. Stored subjects begin with this text. */
  about: string;
  /** Undelivered events of these kinds about the same subject are deleted. */
  replaces: readonly WebhookEvent[];
  data: object;
}

/** SQL: each of `deliveries` with each webhook that is subscribed to its event. Locks the webhooks against deletion. */
const TOLD = `
  select w.id as webhook_id, t.* from jsonb_to_recordset(cast(:deliveries as jsonb))
    as t ("workspaceId" uuid, event text, about text, replaces jsonb, data jsonb)
    join webhooks w on w.workspace_id = t."workspaceId" and t.event = any(w.events)
    for key share of w`;

/**
 * Stores a delivery for each subscribed webhook. Deletes the waiting deliveries that it replaces: a receiver that was
 * away gets only the newest state. A webhook with too many waiting deliveries gets none.
 */
export async function storeNewestDeliveries(trx: Transaction, newest: readonly NewestDelivery[]): Promise<void> {
  if (newest.length === 0) return;
  const deliveries = JSON.stringify(newest);
  // The obsolete deliveries are deleted first, so that they do not count towards the limit of waiting deliveries.
  await trx.raw(
    `delete from webhook_deliveries d using (${TOLD}) t
      where d.webhook_id = t.webhook_id and d.due_at is not null and t.replaces @> to_jsonb(d.event) and starts_with(d.subject, t.about)`,
    { deliveries },
  );
  await trx.raw(
    `with turns as (
       select t.*, row_number() over (partition by webhook_id) as turn,
              (select count(*) from webhook_deliveries d where d.webhook_id = t.webhook_id and d.due_at is not null) as waiting
         from (${TOLD}) t
     )
     insert into webhook_deliveries (id, webhook_id, event, subject, data, happened_at)
     select gen_random_uuid(), webhook_id, event, about || ' ' || now(), data, now() from turns
      where waiting + turn <= :most
     on conflict do nothing`,
    { deliveries, most: MAX_WAITING },
  );
}
