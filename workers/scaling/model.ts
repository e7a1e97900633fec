/**
 * Decides how many replicas a service with automatic scaling should have, with the algorithm of Kubernetes' horizontal
 * autoscaler, without I/O and clock. Usage is in percent of the plan; times are in milliseconds since the epoch.
 */

/** Usage that differs from the target by at most this share of the target changes nothing. */
const TOLERANCE = 0.1;
/** In this period the number of added and removed replicas is limited. */
const PERIOD_MS = 60_000;
/** In one period the number of replicas may double, or increase by this number if that is more. */
const MAX_ADDED = 4;

export interface Usage {
  cpu: number;
  memory: number;
}

/** The state between two decisions. Stored as JSON. */
export interface ScalingMemory {
  /** How many replicas the usage required at each decision of the last `quietMs`. */
  wishes: readonly { at: number; replicas: number }[];
  /**
   * Replicas added (positive) or removed (negative) in the last minute. An entry with 0 records that a refusal was
   * logged.
   */
  changes: readonly { at: number; by: number }[];
}

export const NO_MEMORY: ScalingMemory = { wishes: [], changes: [] };

export interface ScalingFacts {
  now: number;
  /** Number of the release's replicas, ready or not. */
  replicas: number;
  /**
   * Usage of the replicas that have been ready for long enough. All other replicas count as idle in a decision to add
   * replicas, and as fully used in a decision to remove one.
   */
  measured: readonly Usage[];
  minReplicas: number;
  maxReplicas: number;
  targetCpu: number;
  targetMemory: number;
  /** For how long fewer replicas must have sufficed before one is removed. */
  quietMs: number;
  memory: ScalingMemory;
}

export interface ScalingDecision {
  replicas: number;
  /** How many replicas the usage requires, within the configured bounds. */
  wish: number;
  /** Averages over the measured replicas; null if none was measured. */
  usage: Usage | null;
  memory: ScalingMemory;
}

/** Decides how many replicas a service should have. After a deployment, pass the memory that `forgotten` returns. */
export function decideScaling(facts: ScalingFacts): ScalingDecision {
  const { now, replicas, minReplicas, maxReplicas, quietMs } = facts;
  const bounded = (count: number) => Math.min(Math.max(count, minReplicas), maxReplicas);
  const wish = bounded(wishOf(facts));
  const changes = facts.memory.changes.filter(({ at }) => now - at < PERIOD_MS);
  const wishes = remember(facts, wish);
  const decided = (target: number): ScalingDecision => ({
    replicas: target,
    wish,
    usage: averages(facts.measured),
    memory: { wishes, changes: target === replicas ? changes : [...changes, { at: now, by: target - replicas }] },
  });

  // The configured bounds apply at once, without the quiet time.
  if (replicas < minReplicas || replicas > maxReplicas) return decided(bounded(replicas));
  if (wish > replicas) {
    const before = replicas - changes.reduce((sum, { by }) => sum + by, 0);
    const most = Math.max(2 * before, before + MAX_ADDED);
    return decided(Math.max(replicas, Math.min(wish, most)));
  }
  const sufficed = Math.max(...wishes.map((past) => past.replicas));
  const isQuiet = now - (wishes[0]?.at ?? now) >= quietMs;
  const justRemoved = changes.some(({ by }) => by < 0);
  return decided(isQuiet && sufficed < replicas && !justRemoved ? replicas - 1 : replicas);
}

/** Returns the memory to use after a deployment or an operation. With it, no replica is removed for `quietMs`. */
export function forgotten({ changes }: ScalingMemory): ScalingMemory {
  return { wishes: [], changes };
}

/** Keeps one entry older than `quietMs`, which shows that the entries cover this whole time. */
function remember({ now, replicas, quietMs, memory }: ScalingFacts, wish: number): ScalingMemory['wishes'] {
  // After a gap of more than a minute, the earlier entries do not cover the whole time any more.
  if (now - (memory.wishes.at(-1)?.at ?? now) > PERIOD_MS) return [{ at: now, replicas: Math.max(wish, replicas) }];
  const since = memory.wishes.findLastIndex(({ at }) => now - at >= quietMs);
  const kept = memory.wishes.slice(Math.max(0, since));
  return [...kept, { at: now, replicas: kept.length === 0 ? Math.max(wish, replicas) : wish }];
}

function wishOf(facts: ScalingFacts): number {
  const { measured, replicas, targetCpu, targetMemory } = facts;
  if (measured.length === 0) return replicas;
  const wishFor = (of: keyof Usage, target: number) => {
    const values = measured.map((usage) => usage[of]);
    return wishByUsage(values, replicas, target);
  };
  return Math.max(wishFor('cpu', targetCpu), wishFor('memory', targetMemory));
}

function wishByUsage(values: readonly number[], replicas: number, target: number): number {
  const used = values.reduce((sum, value) => sum + value, 0);
  const missing = Math.max(0, replicas - values.length);
  const ratio = used / values.length / target;
  if (missing === 0) return isClose(ratio) ? replicas : ceil(replicas * ratio);
  const assumed = ratio > 1 ? 0 : 100 * missing;
  const whole = (used + assumed) / (values.length + missing) / target;
  // The assumed usage of unmeasured replicas must not turn a decision to add replicas into a decision to remove some,
  // or the reverse.
  if (isClose(whole) || whole > 1 !== ratio > 1) return replicas;
  return ceil((values.length + missing) * whole);
}

function isClose(ratio: number): boolean {
  return Math.abs(ratio - 1) <= TOLERANCE + Number.EPSILON;
}

/** Rounds up, but tolerates floating-point errors. */
function ceil(value: number): number {
  return Math.ceil(value - 1e-9);
}

function averages(measured: readonly Usage[]): Usage | null {
  if (measured.length === 0) return null;
  const mean = (of: keyof Usage) => measured.reduce((sum, usage) => sum + usage[of], 0) / measured.length;
  return { cpu: mean('cpu'), memory: mean('memory') };
}

/** Returns the line for the service's log about a decision that changes the number of replicas. */
export function scalingMessage(facts: ScalingFacts, { replicas, wish, usage }: ScalingDecision, bound = ''): string {
  const { replicas: before, measured, targetCpu, targetMemory, minReplicas, maxReplicas } = facts;
  const figures =
    usage === null
      ? 'no replica was measured'
      : `processor ${Math.round(usage.cpu)} % of the plan (target ${targetCpu} %), memory ${Math.round(usage.memory)} % ` +
        `(target ${targetMemory} %), averaged over ${measured.length} of ${before} replicas`;
  return (
    `Scales from ${before} to ${replicas} replicas: ${figures}; ` +
    `wanted are ${wish}, between ${minReplicas} and ${maxReplicas}${bound}`
  );
}
