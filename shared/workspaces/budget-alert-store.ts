import { type Db, oneValue, rowsOf } from '../core/database/database-client.js';
import type { WorkspaceConfiguration } from './model.js';

const THIS_MONTH = `date_trunc('month', now() at time zone 'utc')::date`;

/** SQL: the delay after the second and each later attempt to send an alert. It grows from four minutes to an hour. */
const PAUSE = `least(interval '1 hour', interval '1 minute' * power(2, least(a.tries + 1, 10)))`;

export interface BudgetAlert {
  /** The part of the budget at which the alert is sent, in percent. */
  threshold: number;
  sent_at: Date | null;
}

/** Returns this month's budget alerts, the lowest threshold first. */
export async function alertsOfMonth(db: Db, workspaceId: string): Promise<BudgetAlert[]> {
  return rowsOf<BudgetAlert>(
    db,
    `select threshold, sent_at from budget_alerts where workspace_id = ? and month = ${THIS_MONTH} order by threshold`,
    [workspaceId],
  );
}

export interface AlertedWorkspace {
  id: string;
  name: string;
  configuration: Partial<WorkspaceConfiguration>;
}

/** Returns workspaces that have a budget, alerts enabled, and an e-mail address for them. */
export async function workspacesWantingAlerts(db: Db): Promise<AlertedWorkspace[]> {
  return rowsOf<AlertedWorkspace>(
    db,
    `select id, name, configuration from workspaces
      where (configuration ->> 'budget')::numeric > 0 and configuration ->> 'notificationEmail' <> ''
        and coalesce((configuration ->> 'budgetAlerts')::boolean, true)
      order by id`,
  );
}

/**
 * Claims this month's alert for one attempt, and returns the attempt's number. The alert is due again later, in case of
 * a failure or crash. Returns null if the alert was sent or is not due.
 */
export function claimAlert(db: Db, workspaceId: string, threshold: number): Promise<number | null> {
  return oneValue<number>(
    db,
    `insert into budget_alerts as a (workspace_id, month, threshold, tries, due_at)
     values (:workspaceId, ${THIS_MONTH}, :threshold, 1, now() + interval '1 minute')
     on conflict (workspace_id, month, threshold) do update set tries = a.tries + 1, due_at = now() + ${PAUSE}
      where a.sent_at is null and a.due_at <= now()
     returning tries`,
    { workspaceId, threshold },
  );
}

export async function markAlertSent(db: Db, workspaceId: string, threshold: number): Promise<void> {
  await db.raw(
    `update budget_alerts set sent_at = now()
      where workspace_id = :workspaceId and threshold = :threshold and month = ${THIS_MONTH}`,
    { workspaceId, threshold },
  );
}
