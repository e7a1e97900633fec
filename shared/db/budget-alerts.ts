import { type Db, rowsOf } from './client.js';

/** SQL: the first day of this month (UTC). */
const THIS_MONTH = `date_trunc('month', now() at time zone 'utc')::date`;

export interface BudgetAlert {
  /** Per cent of the budget. */
  threshold: number;
  sent_at: Date | null;
}

/** The alerts of this month, the lowest threshold first. */
export async function alertsOfMonth(db: Db, workspaceId: string): Promise<BudgetAlert[]> {
  return rowsOf<BudgetAlert>(
    db,
    `select threshold, sent_at from budget_alerts where workspace_id = ? and month = ${THIS_MONTH} order by threshold`,
    [workspaceId],
  );
}
