import { type AlertMetric, type AlertStatus, MAX_FOR_MINUTES } from '../../shared/alerts/model.js';
import { type Db, rowsOf, type Transaction } from '../../shared/core/database/database-client.js';
import { FINEST } from '../../shared/metrics/model.js';
import type { AlertState } from './decide-alert.js';

/** Maximum number of pairs that one statement evaluates, in total and per workspace. A pair is a rule and a service. */
export const MAX_PAIRS = { all: 20_000, workspace: 2_000 };

/** `minute` is the start of the minute, in milliseconds since 1970. */
export interface MinuteFigures {
  minute: number;
  samples: number;
  cpu: number;
  memory: number;
  requests: number;
  failed: number;
  latency: number[] | null;
}

/** A rule with one of its services, the state after the last evaluation, and the figures since that evaluation. */
export interface Pair extends Omit<AlertState, 'status'> {
  alert_id: string;
  workspace_id: string;
  metric: AlertMetric;
  above: number;
  for_minutes: number;
  service_id: string;
  service_name: string;
  /** Null before the first evaluation of the rule for this service. */
  status: AlertStatus | null;
  from: Date;
  until: Date;
  minutes: MinuteFigures[] | null;
  restarts: number | null;
  /** Usage of the fullest volume, in percent. */
  volume_percent: number | null;
  data_bytes: number | null;
  data_plan: string | null;
  certificate_days: number | null;
}

/** Reads the pairs to evaluate. Workspaces take turns, each with the pair whose last evaluation is the oldest. */
export function readPairs(trx: Transaction): Promise<Pair[]> {
  return rowsOf<Pair>(
    trx,
    `with clock as (
       select date_bin('1 minute', now(), 'epoch') as until
     ), pairs as (
       select r.id as alert_id, r.workspace_id, r.metric, r.above, r.for_minutes, s.id as service_id, s.name as service_name,
              s.live_deployment_id, s.lifecycle_status, st.status, st.value, st.since, coalesce(st.run, 0) as run,
              coalesce(st.return_minutes, 0) as "returnMinutes", st.resolved_at as "resolvedAt", st.data_at as "dataAt", c.until,
              greatest(coalesce(st.seen_at, c.until - make_interval(mins => r.for_minutes)),
                       c.until - interval '${MAX_FOR_MINUTES} minutes') as "from", st.seen_at,
              row_number() over (partition by r.workspace_id order by st.seen_at nulls first, r.id, s.id) as turn
         from clock c cross join alert_rules r
         join services s on s.workspace_id = r.workspace_id and s.deleted_at is null and (r.service_id is null or r.service_id = s.id)
         left join alert_states st on st.alert_id = r.id and st.service_id = s.id
        where st.seen_at is null or st.seen_at < c.until
     ), due as (
       select * from pairs where turn <= :ofWorkspace order by turn, seen_at nulls first limit :all
     ), watched as (
       select service_id, min("from") as since from due where metric in ('cpu', 'memory', 'errors', 'latency_p99') group by service_id
     ), figures as (
       select w.service_id, jsonb_agg(to_jsonb(f) order by f.minute) as minutes
         from watched w cross join lateral (
           select (extract(epoch from date_bin('1 minute', m.at, 'epoch')) * 1000)::float8 as minute, sum(m.samples) as samples,
                  sum(m.cpu) as cpu, sum(m.memory) as memory, sum(m.requests_5xx) as failed,
                  sum(m.requests_2xx + m.requests_3xx + m.requests_4xx + m.requests_5xx) as requests, sum_counts(m.latency) as latency
             from service_metrics m cross join clock c
            where m.service_id = w.service_id and m.step = ${FINEST.step} and m.at >= w.since and m.at < c.until
            group by 1
         ) f group by w.service_id
     )
     select due.*, figures.minutes, restarted.restarts, held.volume_percent, data.used_bytes::float8 as data_bytes,
            data.plan as data_plan, certified.certificate_days
       from due left join figures using (service_id)
       left join lateral (
         select count(*)::int as restarts from replica_restarts x
          where x.service_id = due.service_id and x.at >= due.until - make_interval(mins => due.for_minutes)
       ) restarted on due.metric = 'restarts' and due.lifecycle_status = 'active' and due.live_deployment_id is not null
       left join lateral (
         select (max(v.used_bytes / v.size_gb) / 1e7)::float8 as volume_percent from volumes v
          where v.service_id = due.service_id and v.removed_at is null and v.measured_at is not null
       ) held on due.metric = 'disk'
       left join lateral (
         select d.used_bytes, live.configuration ->> 'plan' as plan
           from data_servers d join deployments live on live.id = due.live_deployment_id
          where d.id = due.service_id and d.measured_at is not null
       ) data on due.metric = 'disk'
       left join lateral (
         select (extract(epoch from min(d.certificate_until) - now()) / 86400)::float8 as certificate_days from domains d
          where d.service_id = due.service_id and d.status = 'active' and d.leads_here and d.released_at is null
       ) certified on due.metric = 'certificate'`,
    { all: MAX_PAIRS.all, ofWorkspace: MAX_PAIRS.workspace },
  );
}

/** `told` is true if a mail about the state must be sent. */
export interface NewState {
  pair: Pick<Pair, 'alert_id' | 'service_id' | 'until'>;
  state: AlertState;
  told: boolean;
}

/** Stores states. Leaves out rules that were deleted meanwhile. */
export async function storeStates(trx: Transaction, states: readonly NewState[]): Promise<void> {
  if (states.length === 0) return;
  const rows = states.map(({ pair: { alert_id, service_id, until }, state, told }) => {
    return { ...state, alert_id, service_id, seen_at: until, told };
  });
  await trx.raw(
    `with given as (
       select g.* from jsonb_to_recordset(cast(? as jsonb)) as g (alert_id uuid, service_id uuid, status text, value float8, since timestamptz,
         run int, "returnMinutes" int, "resolvedAt" timestamptz, "dataAt" timestamptz, seen_at timestamptz, told boolean)
         join alert_rules r on r.id = g.alert_id for key share of r
     )
     insert into alert_states as st (alert_id, service_id, status, value, since, run, return_minutes, resolved_at, data_at, seen_at,
                                     told_at, mail_due_at)
     select alert_id, service_id, status, value, since, run, "returnMinutes", "resolvedAt", "dataAt", seen_at,
            case when told then now() end, case when told then now() end
       from given
     on conflict (alert_id, service_id) do update
       set status = excluded.status, value = excluded.value, since = excluded.since, run = excluded.run,
           return_minutes = excluded.return_minutes, resolved_at = excluded.resolved_at, data_at = excluded.data_at,
           seen_at = excluded.seen_at, told_at = coalesce(excluded.told_at, st.told_at),
           mail_due_at = coalesce(excluded.mail_due_at, st.mail_due_at),
           mail_tries = case when excluded.told_at is null then st.mail_tries else 0 end`,
    [JSON.stringify(rows)],
  );
}

export interface DueMail
  extends Pick<Pair, 'alert_id' | 'workspace_id' | 'metric' | 'above' | 'for_minutes' | 'service_id' | 'service_name'>,
    Pick<AlertState, 'status' | 'value' | 'since'> {
  told_at: Date;
  workspace_name: string;
  workspace_configuration: object;
  tries: number;
}

/** SQL: the pause after a failed try, which grows from two minutes to an hour. */
const PAUSE = `least(interval '1 hour', interval '1 minute' * power(2, least(st.mail_tries + 1, 10)))`;

/** Claims the due e-mails of up to `workspaces` workspaces. If this process crashes, they become due again. */
export function claimMails(db: Db, workspaces: number): Promise<DueMail[]> {
  return rowsOf<DueMail>(
    db,
    `with late as (
       select r.workspace_id from alert_states st join alert_rules r on r.id = st.alert_id
        where st.mail_due_at <= now() group by r.workspace_id order by min(st.mail_due_at) limit :workspaces
     ), taken as (
       update alert_states st set mail_tries = st.mail_tries + 1, mail_due_at = now() + ${PAUSE}
         from alert_rules r join late on late.workspace_id = r.workspace_id
        where st.alert_id = r.id and st.mail_due_at <= now()
       returning st.alert_id, st.service_id, st.told_at, st.status, st.value, st.since, st.mail_tries as tries, r.metric, r.above,
                 r.for_minutes, r.workspace_id
     )
     select t.*, s.name as service_name, w.name as workspace_name, w.configuration as workspace_configuration
       from taken t join services s on s.id = t.service_id join workspaces w on w.id = t.workspace_id
      order by t.told_at, s.name, t.alert_id`,
    { workspaces },
  );
}

/** Records that no mail about these states is due any more, unless a newer message is due. */
export async function endMails(db: Db, mails: readonly DueMail[]): Promise<void> {
  await rowsOf(
    db,
    `update alert_states st set mail_due_at = null
       from unnest(?::uuid[], ?::uuid[], ?::timestamptz[]) as t (alert_id, service_id, told_at)
      where st.alert_id = t.alert_id and st.service_id = t.service_id and st.told_at = t.told_at`,
    [mails.map((mail) => mail.alert_id), mails.map((mail) => mail.service_id), mails.map((mail) => mail.told_at)],
  );
}
