import { v7 as uuidv7 } from 'uuid';
import { assertRoom } from '../core/database/assert-room.js';
import { type Db, returnedRow, rowCountOf, type Transaction } from '../core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../core/database/page.js';
import { invalidRequest } from '../core/error-registry.js';
import { findServiceView } from '../services/store.js';
import { type AlertMetric, type AlertRule, type AlertStatus, MAX_ALERTS, thresholdProblem } from './model.js';

interface AlertRow {
  id: string;
  workspace_id: string;
  service_id: string | null;
  metric: AlertMetric;
  above: number;
  for_minutes: number;
  created_at: Date;
}

/** `since` is an ISO 8601 time. */
interface ShownState {
  service_id: string;
  service_name: string;
  status: AlertStatus;
  value: number | null;
  since: string | null;
}

export type AlertView = AlertRow & { states: ShownState[] };

export const MAX_SHOWN_STATES = 100;

const STATES = `(
  select coalesce(jsonb_agg(x), '[]') from (
    select st.service_id, s.name as service_name, st.status, st.value, st.since
      from alert_states st join services s on s.id = st.service_id and s.deleted_at is null
     where st.alert_id = r.id
     order by array_position(array['firing', 'pending', 'unknown', 'ok'], st.status), s.name, s.id limit ${MAX_SHOWN_STATES}
  ) x) as states`;

/** Stores an alert rule. Throws invalid_request, capacity_exceeded. */
export async function createAlert(
  trx: Transaction,
  { workspaceId, serviceId, ...rule }: AlertRule & { workspaceId: string; serviceId: string | null },
): Promise<AlertView> {
  assertThreshold(rule);
  if (serviceId !== null && !(await findServiceView(trx, workspaceId, serviceId, { deleted: false }))) {
    throw invalidRequest('/serviceId', 'is not a service of this workspace');
  }
  await assertRoom(trx, 'alert_rules', workspaceId, MAX_ALERTS);
  const { metric, above, forMinutes } = rule;
  const values = { id: uuidv7(), workspace_id: workspaceId, service_id: serviceId, metric, above };
  const [row] = await trx<AlertRow>('alert_rules')
    .insert({ ...values, for_minutes: forMinutes })
    .returning('*');
  return { ...returnedRow(row), states: [] };
}

/** Changes an alert rule and keeps its states. Returns undefined if there is no such rule. Throws invalid_request. */
export async function updateAlert(
  trx: Transaction,
  workspaceId: string,
  id: string,
  change: Partial<Pick<AlertRule, 'above' | 'forMinutes'>>,
): Promise<AlertView | undefined> {
  const row = await findAlert(trx, workspaceId, id);
  if (row === undefined) return undefined;
  const { above, forMinutes } = change;
  if (above !== undefined) assertThreshold({ metric: row.metric, above });
  const values = { above: above ?? trx.ref('above'), for_minutes: forMinutes ?? trx.ref('for_minutes') };
  await trx('alert_rules').where({ id: row.id }).update(values);
  return findAlert(trx, workspaceId, id);
}

function assertThreshold(rule: Pick<AlertRule, 'metric' | 'above'>): void {
  const problem = thresholdProblem(rule);
  if (problem !== null) throw invalidRequest('/above', problem);
}

export function listAlerts(db: Db, workspaceId: string, page: PageRequest): Promise<Page<AlertView>> {
  return fetchPage(alerts(db, { workspaceId }), 'r', page);
}

export async function findAlert(db: Db, workspaceId: string, id: string): Promise<AlertView | undefined> {
  const [row] = (await alerts(db, { workspaceId, id })) as AlertView[];
  return row;
}

function alerts(db: Db, { workspaceId, id }: { workspaceId: string; id?: string }) {
  const match = { 'r.workspace_id': workspaceId, ...(id === undefined ? {} : { 'r.id': id }) };
  return db<AlertView>('alert_rules as r').where(match).select('r.*', db.raw(STATES));
}

/** Deletes an alert rule with its states. Returns false if there is no such rule. */
export async function deleteAlert(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  return (await trx('alert_rules').where({ id, workspace_id: workspaceId }).delete()) > 0;
}

/** Deletes the alert rules and states of deleted services. Returns the number of deleted rules. */
export async function deleteAlertsOfGone(db: Db): Promise<number> {
  const gone = `using services s where s.id = t.service_id and s.deleted_at is not null`;
  await db.raw(`delete from alert_states t ${gone}`);
  return rowCountOf(db, `delete from alert_rules t ${gone}`);
}
