import { type AlertRule, type AlertStatus, isBeyond } from '../../shared/alerts/model.js';

/** The state of a rule for one service after the last evaluation. */
export interface AlertState {
  status: AlertStatus;
  value: number | null;
  /** When the status started. For `firing`: when the consecutive minutes beyond the threshold began. */
  since: Date | null;
  /** For how many consecutive minutes the value was beyond the threshold or, while the rule fires, within it. */
  run: number;
  /** After how many consecutive minutes within the threshold a firing alert is resolved. */
  returnMinutes: number;
  resolvedAt: Date | null;
  dataAt: Date | null;
}

/** The value in the minute that starts at `at`. Null if nothing was measured. */
export interface Sample {
  at: Date;
  value: number | null;
}

export type AlertMessage = 'firing' | 'resolved';

const MINUTE_MS = 60_000;
/** The first and the largest value of `returnMinutes`. The value doubles each time the rule flaps. */
const RETURN_MINUTES = { first: 5, longest: 60 };
/** A rule flaps if it fires again within this time after its last alert was resolved. */
const FLAPPING_MS = 60 * MINUTE_MS;
/** A longer gap in the data makes the status `unknown` and ends a run of minutes, unless the rule is firing. */
const MAX_GAP_MS = 60 * MINUTE_MS;

export const INITIAL: AlertState = {
  status: 'unknown',
  value: null,
  since: null,
  run: 0,
  returnMinutes: RETURN_MINUTES.first,
  resolvedAt: null,
  dataAt: null,
};

/** Returns the state after these samples, oldest first, and the newest message to send. */
export function decideAlert(
  rule: AlertRule,
  before: AlertState,
  samples: readonly Sample[],
): { state: AlertState; message: AlertMessage | null } {
  let state = before;
  let message: AlertMessage | null = null;
  for (const sample of samples) {
    const next =
      sample.value === null ? withoutData(state, sample.at) : withValue(rule, state, sample.at, sample.value);
    if (next.status === 'firing' && state.status !== 'firing') message = 'firing';
    if (next.status !== 'firing' && state.status === 'firing') message = 'resolved';
    state = next;
  }
  return { state, message };
}

/** A firing rule keeps firing, because missing data does not show that the value is back to normal. */
function withoutData(state: AlertState, at: Date): AlertState {
  if (state.status === 'firing' || state.status === 'unknown' || !isLate(state, at)) return state;
  return { ...state, status: 'unknown', value: null, since: at, run: 0 };
}

function withValue(rule: AlertRule, state: AlertState, at: Date, value: number): AlertState {
  const measured = { ...state, value, dataAt: at };
  const beyond = isBeyond(rule, value);
  if (state.status === 'firing') {
    const run = beyond ? 0 : state.run + 1;
    if (run < state.returnMinutes) return { ...measured, run };
    return { ...measured, status: 'ok', since: at, run: 0, resolvedAt: at };
  }
  if (!beyond) return { ...measured, status: 'ok', since: state.status === 'ok' ? state.since : at, run: 0 };
  const continues = state.status === 'pending' && !isLate(state, at);
  const since = continues ? state.since : at;
  const run = continues ? state.run + 1 : 1;
  if (run < minutesToFire(rule)) return { ...measured, status: 'pending', since, run };
  return { ...measured, status: 'firing', since, run: 0, returnMinutes: returnMinutesOf(state, at) };
}

/** One minute suffices for `restarts`: its value counts the restarts of the last `forMinutes` minutes. */
function minutesToFire({ metric, forMinutes }: AlertRule): number {
  return metric === 'restarts' ? 1 : forMinutes;
}

/** Returns `returnMinutes` for a rule that begins to fire. Doubles the number if the rule flaps, to limit messages. */
function returnMinutesOf({ resolvedAt, returnMinutes }: AlertState, at: Date): number {
  const flaps = resolvedAt !== null && at.getTime() - resolvedAt.getTime() < FLAPPING_MS;
  return flaps ? Math.min(returnMinutes * 2, RETURN_MINUTES.longest) : RETURN_MINUTES.first;
}

function isLate({ dataAt }: AlertState, at: Date): boolean {
  return dataAt === null || at.getTime() - dataAt.getTime() > MAX_GAP_MS;
}
