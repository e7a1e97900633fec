import { type Db, lockUntilCommit } from '../../shared/core/database/database-client.js';
import { storageBytes } from '../../shared/data/model.js';
import { quantile } from '../../shared/metrics/model.js';
import { type NewestDelivery, storeNewestDeliveries } from '../webhooks/newest-deliveries.js';
import { MAX_PAIRS, type MinuteFigures, type NewState, type Pair, readPairs, storeStates } from './alert-store.js';
import { type AlertMessage, type AlertState, decideAlert, INITIAL, type Sample } from './decide-alert.js';

const MINUTE_MS = 60_000;

/** Maximum number of batches per run. Pairs of a rule and a service that remain come first in the next run. */
const MAX_BATCHES = 10;

/** Evaluates all alert rules for each minute since the last run, and stores messages about changes. */
export async function evaluateAlerts({ db }: { db: Db }): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    if ((await evaluateBatch(db)) < MAX_PAIRS.all) return;
  }
}

function evaluateBatch(db: Db): Promise<number> {
  return db.transaction(async (trx) => {
    // For a short time, two workers may both evaluate alerts. Without the lock, both would send the same messages.
    await lockUntilCommit(trx, 'ranvier.alerts');
    const decided = (await readPairs(trx)).map((pair) => ({ pair, ...decide(pair) }));
    await storeStates(
      trx,
      decided.map(({ pair, state, message }): NewState => ({ pair, state, told: message !== null })),
    );
    const told = decided.flatMap(({ pair, state, message }) =>
      message === null ? [] : [deliveryOf(pair, state, message)],
    );
    await storeNewestDeliveries(trx, told);
    return decided.length;
  });
}

function decide(pair: Pair): ReturnType<typeof decideAlert> {
  const { metric, above, for_minutes: forMinutes } = pair;
  const { status, value, since, run, returnMinutes, resolvedAt, dataAt } = pair;
  const before: AlertState =
    status === null ? INITIAL : { status, value, since, run, returnMinutes, resolvedAt, dataAt };
  return decideAlert({ metric, above, forMinutes }, before, samplesOf(pair));
}

/** The last minute always has a sample, with the value null if nothing was measured. */
function samplesOf(pair: Pair): Sample[] {
  const last = pair.until.getTime() - MINUTE_MS;
  const now = valueNow(pair);
  if (now !== undefined) return [{ at: new Date(last), value: now }];
  const known = (pair.minutes ?? [])
    .filter(({ minute }) => minute >= pair.from.getTime())
    .map((figures) => ({ at: new Date(figures.minute), value: minuteValue(pair.metric, figures) }));
  return known.at(-1)?.at.getTime() === last ? known : [...known, { at: new Date(last), value: null }];
}

/** Null if the value is unknown; undefined for a metric that has a history. */
function valueNow(pair: Pair): number | null | undefined {
  if (pair.metric === 'restarts') return pair.restarts;
  if (pair.metric === 'certificate') return pair.certificate_days;
  if (pair.metric !== 'disk') return undefined;
  if (pair.data_bytes === null || pair.data_plan === null) return pair.volume_percent;
  return (pair.data_bytes / storageBytes(pair.data_plan)) * 100;
}

function minuteValue(metric: Pair['metric'], figures: MinuteFigures): number | null {
  const { samples, requests } = figures;
  if (metric === 'latency_p99') return quantile(figures.latency ?? [], 0.99);
  if (metric === 'errors') return requests === 0 ? null : (figures.failed / requests) * 100;
  if (samples === 0) return null;
  return (metric === 'cpu' ? figures.cpu : figures.memory) / samples;
}

function deliveryOf(pair: Pair, state: AlertState, message: AlertMessage): NewestDelivery {
  return {
    workspaceId: pair.workspace_id,
    event: `alert.${message}`,
    about: `${pair.alert_id} ${pair.service_id}`,
    replaces: ['alert.firing', 'alert.resolved'],
    data: {
      alertId: pair.alert_id,
      serviceId: pair.service_id,
      serviceName: pair.service_name,
      metric: pair.metric,
      above: pair.above,
      forMinutes: pair.for_minutes,
      value: state.value === null ? null : Math.round(state.value * 100) / 100,
      since: state.since?.toISOString() ?? null,
    },
  };
}
