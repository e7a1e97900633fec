import { v7 as uuidv7 } from 'uuid';
import { assertRoom } from '../core/database/assert-room.js';
import {
  anyRow,
  type Db,
  oneValue,
  returnedRow,
  rowCountOf,
  rowsOf,
  type Transaction,
} from '../core/database/database-client.js';
import { type Page, type PageRequest, pageOf } from '../core/database/page.js';
import { invalidRequest } from '../core/error-registry.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import { newToken } from '../secrets/random-token.js';
import { SEALED, sealIn } from '../secrets/sealed-columns.js';
import {
  MAX_WAITING,
  MAX_WEBHOOKS,
  shownUrl,
  type WebhookEvent,
  type WebhookFormat,
  webhookUrlProblem,
} from './model.js';

export interface WebhookRow {
  id: string;
  workspace_id: string;
  url: string;
  format: WebhookFormat;
  sealed_url: Buffer;
  sealed_secret: Buffer;
  events: WebhookEvent[];
  created_at: Date;
  delivered_at: Date | null;
  outcome: string;
}

/** Creates a webhook. Returns its secret, which is never shown again. Throws invalid_request, capacity_exceeded. */
export async function createWebhook(
  trx: Transaction,
  { keyring, config }: CommandDeps,
  input: { workspaceId: string; url: string; format: WebhookFormat; events: readonly WebhookEvent[] },
): Promise<{ webhook: WebhookRow; secret: string }> {
  const problem = webhookUrlProblem(input.url, config.allowLocalRepositories);
  if (problem !== null) throw invalidRequest('/url', problem);
  await assertRoom(trx, 'webhooks', input.workspaceId, MAX_WEBHOOKS);
  const id = uuidv7();
  const { token: secret } = newToken();
  const [webhook] = await trx<WebhookRow>('webhooks')
    .insert({
      id,
      workspace_id: input.workspaceId,
      url: shownUrl(input.url, input.format),
      format: input.format,
      sealed_url: sealIn(keyring, SEALED.webhookUrl, id, input.url),
      sealed_secret: sealIn(keyring, SEALED.webhookSecret, id, secret),
      events: [...new Set(input.events)],
    })
    .returning('*');
  return { webhook: returnedRow(webhook), secret };
}

export async function listWebhooks(db: Db, workspaceId: string, page: PageRequest): Promise<Page<WebhookRow>> {
  return pageOf<WebhookRow>(db, 'webhooks', { workspace_id: workspaceId }, page);
}

export async function deleteWebhook(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  return (await trx('webhooks').where({ id, workspace_id: workspaceId }).delete()) > 0;
}

/**
 * SQL: matches times since `storeDeliveries` last looked for a webhook's events, and the two minutes before, because a
 * transaction can commit later than the time that it stores. A unique index prevents duplicate events.
 */
const SINCE = `> greatest(w.created_at, w.scanned_at - interval '2 minutes')`;
const SERVICE = `'serviceId', s.id, 'serviceName', s.name`;
/** SQL queries that find finished work. They return the event's name, the id of the work, its time and its data. */
const SOURCES: readonly string[] = [
  `select 'deployment.' || d.status as event, d.id::text as subject, d.finished_at as happened_at,
          jsonb_build_object(${SERVICE}, 'slug', s.slug, 'kind', s.kind, 'deploymentId', d.id, 'trigger', d.trigger, 'actor', d.actor,
            'branch', d.branch, 'commitSha', d.commit_sha, 'commitMessage', d.commit_message, 'error', d.error) as data
     from deployments d join services s on s.id = d.service_id
    where d.workspace_id = w.workspace_id and d.status in ('live', 'failed') and d.finished_at ${SINCE}`,
  `select 'run.failed', r.id::text, r.finished_at,
          jsonb_build_object(${SERVICE}, 'runId', r.id, 'trigger', r.trigger, 'attempt', r.attempt, 'exitCode', r.exit_code, 'error', r.error)
     from runs r join services s on s.id = r.service_id
    where r.workspace_id = w.workspace_id and r.status = 'failed' and r.trigger <> 'deployment' and r.finished_at ${SINCE}`,
  `select 'backup.failed', b.id::text, b.finished_at, jsonb_build_object(${SERVICE}, 'backupId', b.id, 'error', b.error)
     from backups b join services s on s.id = b.service_id
    where b.workspace_id = w.workspace_id and b.status = 'failed' and b.finished_at ${SINCE}`,
];

/**
 * Stores a delivery for each new event to which a webhook subscribes. Returns false if there are no webhooks. Skips
 * webhooks with too many waiting deliveries.
 */
export async function storeDeliveries(db: Db): Promise<boolean> {
  if (!(await anyRow(db, 'select from webhooks limit 1'))) return false;
  const events = SOURCES.join(' union all ');
  await db.transaction(async (trx) => {
    const now = await oneValue<Date>(trx, 'select now()');
    await trx.raw(
      `insert into webhook_deliveries (id, webhook_id, event, subject, data, happened_at)
       select gen_random_uuid(), w.id, e.event, e.subject, e.data, e.happened_at
         from webhooks w cross join lateral (${events}) e
        where e.event = any(w.events)
          and (select count(*) from webhook_deliveries d where d.webhook_id = w.id and d.due_at is not null) < ${MAX_WAITING}
       on conflict do nothing`,
    );
    await trx.raw(`update webhooks set scanned_at = ? where scanned_at < now() - interval '10 seconds'`, [now]);
  });
  return true;
}

/** Stores a delivery for each webhook of the workspace that subscribes to this event, once per subject. */
export async function storeDelivery(
  db: Db,
  input: { workspaceId: string; event: WebhookEvent; subject: string; data: object },
): Promise<void> {
  await db.raw(
    `insert into webhook_deliveries (id, webhook_id, event, subject, data, happened_at)
     select gen_random_uuid(), w.id, :event, :subject, cast(:data as jsonb), now() from webhooks w
      where w.workspace_id = :workspaceId and :event = any(w.events) on conflict do nothing`,
    { ...input, data: JSON.stringify(input.data) },
  );
}

/** Returns workspaces with a webhook for budget alerts. `configuration` contains the budget. */
export async function workspacesWithBudgetWebhooks(
  db: Db,
): Promise<{ id: string; name: string; configuration: object }[]> {
  return rowsOf(
    db,
    `select w.id, w.name, w.configuration from workspaces w
      where exists (select from webhooks h where h.workspace_id = w.id and 'budget.alert' = any(h.events))`,
  );
}

export interface DueDelivery extends Pick<WebhookRow, 'workspace_id' | 'format' | 'sealed_url' | 'sealed_secret'> {
  id: string;
  webhook_id: string;
  event: WebhookEvent;
  data: Record<string, unknown>;
  happened_at: Date;
  tries: number;
}

/** Takes deliveries that are due. They are due again in two minutes, in case this process dies before it sends them. */
export async function takeDeliveries(
  db: Db,
  { most, mostOfWorkspace }: { most: number; mostOfWorkspace: number },
): Promise<DueDelivery[]> {
  return rowsOf<DueDelivery>(
    db,
    `with turns as (
       select d.id, d.due_at, row_number() over (partition by w.workspace_id order by d.due_at) as turn
         from webhook_deliveries d join webhooks w on w.id = d.webhook_id where d.due_at <= now()
     ), due as (
       select d.id from webhook_deliveries d join turns t on t.id = d.id
        where t.turn <= :mostOfWorkspace and d.due_at <= now()
        order by t.turn, t.due_at limit :most for update of d skip locked
     ), taken as (
       update webhook_deliveries d set tries = d.tries + 1, due_at = now() + interval '2 minutes'
         from due where d.id = due.id returning d.*
     )
     select t.id, t.webhook_id, w.workspace_id, t.event, t.data, t.happened_at, t.tries, w.format, w.sealed_url, w.sealed_secret
       from taken t join webhooks w on w.id = t.webhook_id`,
    { most, mostOfWorkspace },
  );
}

/** Records an attempt to send a delivery. The webhook's other deliveries wait for at least `holdMs` milliseconds. */
export async function recordTry(
  db: Db,
  { id, webhook_id }: Pick<DueDelivery, 'id' | 'webhook_id'>,
  { outcome, againMs, holdMs = 0 }: { outcome: string; againMs: number | null; holdMs?: number },
): Promise<void> {
  await db.raw(
    `update webhook_deliveries set due_at = now() + cast(:againMs as float8) * interval '1 millisecond' where id = :id`,
    { id, againMs },
  );
  if (holdMs > 0) {
    await db.raw(
      `update webhook_deliveries set due_at = now() + cast(:holdMs as float8) * interval '1 millisecond'
        where webhook_id = :webhook_id and due_at < now() + cast(:holdMs as float8) * interval '1 millisecond'`,
      { webhook_id, holdMs },
    );
  }
  await db('webhooks').where({ id: webhook_id }).update({ delivered_at: db.fn.now(), outcome });
}

const KEPT_DAYS = 7;

/** Deletes deliveries that were created more than 7 days ago. Returns their number. */
export function deleteOldDeliveries(db: Db): Promise<number> {
  return rowCountOf(
    db,
    `delete from webhook_deliveries where created_at < now() - make_interval(days => ${KEPT_DAYS})`,
  );
}
