import type { Canary, CanarySide } from '../../shared/deployments/canary-store.js';
import { quantile } from '../../shared/metrics/model.js';

/** Before a canary's end, errors are judged only if the new release has had this many requests. */
const MIN_REQUESTS = 20;
/** How much larger the share of failed requests (0 to 1) may be for the new release than for the previous one. */
const MARGIN = 0.01;
/**
 * Critical value of the normal distribution for 99 % confidence. It is high because a canary is judged repeatedly, and
 * each judgement may find a difference by chance.
 */
const Z = 2.58;
/** The latencies of the new and the previous release are compared only if each has had at least this many requests. */
const MIN_LATENCIES = 100;
/**
 * Latency is judged only after this time, in milliseconds, or after half of the canary, whichever is earlier. A release
 * that has just started is slow.
 */
const WARM_UP_MS = 60_000;
const SLOWER = 2;
const SLOWER_MS = 100;
/**
 * The new release is withdrawn if it has had no ready replica for this long, in milliseconds, while the previous one
 * has a ready replica. Shorter interruptions are tolerated, because a restart of the host also causes one.
 */
const UNREADY_MS = 30_000;

export type CanaryDecision = { type: 'wait' } | { type: 'promote' | 'withdraw'; reason: string };

/**
 * Decides about a canary that is under way. At its end, the new release is promoted unless it is worse than the
 * previous one. A release without visitors does not count as worse.
 */
export function decideCanary(canary: Canary): CanaryDecision {
  const { cancelRequested, isActive, now, endsAt, changedAt } = canary;
  if (cancelRequested) return withdraw('the deployment was cancelled');
  if (!isActive) return withdraw('the service was suspended or is being deleted');
  const isOver = now >= endsAt;
  const isUnready = canary.new.ready === 0;
  if (isUnready && (isOver || (canary.previous.ready > 0 && now - changedAt > UNREADY_MS))) {
    return withdraw('no replica of the new release is ready');
  }
  const worse = moreErrors(canary, isOver) ?? higherLatency(canary);
  if (worse !== null) return withdraw(worse);
  return isOver ? { type: 'promote', reason: figures(canary) } : { type: 'wait' };
}

function withdraw(reason: string): CanaryDecision {
  return { type: 'withdraw', reason };
}

function moreErrors(canary: Canary, isOver: boolean): string | null {
  const { requests, errors } = canary.new;
  if (!isOver && requests < MIN_REQUESTS) return null;
  return leastShare(errors, requests) > shareOf(canary.previous) + MARGIN ? figures(canary) : null;
}

function higherLatency({ begunAt, endsAt, now, ...sides }: Canary): string | null {
  if (now - begunAt < Math.min(WARM_UP_MS, (endsAt - begunAt) / 2)) return null;
  const [after, before] = [sides.new, sides.previous].map(({ requests, latency }) =>
    requests < MIN_LATENCIES ? null : quantile(latency, 0.95),
  );
  if (after == null || before == null || after <= before * SLOWER || after - before <= SLOWER_MS) return null;
  return `95 % of requests took up to ${Math.round(after)} ms, ${Math.round(before)} ms before`;
}

/** Returns the lower bound of the share of requests that fail (Wilson's interval). It is low for few requests. */
function leastShare(errors: number, requests: number): number {
  if (requests === 0) return 0;
  const share = errors / requests;
  const square = Z * Z;
  const spread = Z * Math.sqrt((share * (1 - share)) / requests + square / (4 * requests * requests));
  return (share + square / (2 * requests) - spread) / (1 + square / requests);
}

function shareOf({ errors, requests }: CanarySide): number {
  return requests === 0 ? 0 : errors / requests;
}

function figures(canary: Canary): string {
  const percent = (side: CanarySide) => `${Math.round(shareOf(side) * 1_000) / 10} %`;
  const { requests } = canary.previous;
  return `${percent(canary.new)} of ${canary.new.requests} requests failed, ${percent(canary.previous)} of ${requests} before`;
}
