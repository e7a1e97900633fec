import type { Canary, CanarySide } from '../../shared/deployments/canary-store.js';
import { quantile } from '../../shared/metrics/model.js';

/** Before a canary's end, errors are judged only if the new release has had this many requests. */
const MIN_REQUESTS = 20;
/** How much larger the share of failed requests (0 to 1) may be in the new release than in the previous one. */
const MARGIN = 0.01;
/** Critical value for 99 % confidence. With a lower one, repeated judgements would find differences by chance. */
const Z = 2.58;
/** Latencies are compared only if each release has had at least this many requests. */
const MIN_LATENCIES = 100;
/** A new release is slow at first. So latency is judged after this time or half of the canary, whichever is shorter. */
const WARM_UP_MS = 60_000;
const SLOWER = 2;
const SLOWER_MS = 100;
/** For this time, the new release may have no ready replica, for example during a restart of the host. */
const UNREADY_MS = 30_000;

export type CanaryDecision = { type: 'wait' } | { type: 'promote' | 'withdraw'; reason: string };

/** Decides about a canary. At its end, the new release is promoted unless it is worse than the previous one. */
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

/** The lower bound of the share of requests that fail (Wilson's interval). */
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
