import type { ReplicaRow } from '../replicas/rows.js';

/** Maximum number of times that the delay before a replacement doubles. */
const MAX_DOUBLINGS = 5;

/** Returns how long a replica must fail before it is replaced. `replacements` counts earlier replacements in a row. */
export function replacementDelayMs(firstMs: number, replacements: number): number {
  return firstMs * 2 ** Math.min(replacements, MAX_DOUBLINGS);
}

/** An action on replicas that continue to fail their health check. */
export type ReplacementAction =
  /** Starts a new replica next to the failing one. */
  | { type: 'begin'; failing: ReplicaRow; allFail: boolean }
  /** Stops the failing replica and starts a new one in its place. */
  | { type: 'restartInPlace'; failing: ReplicaRow; allFail: boolean; why: 'no room' | 'did not help' }
  /** The new replica is healthy: it replaces the failing one, which is stopped. */
  | { type: 'finish'; failing: ReplicaRow; successor: ReplicaRow }
  /** The new replica did not become healthy: it is stopped, and the failing one stays until the next try. */
  | { type: 'abandon'; failing: ReplicaRow; successor: ReplicaRow }
  /** The new replica is no longer needed and is stopped. */
  | { type: 'drop'; successor: ReplicaRow };

export interface ReplacementOptions {
  /** Milliseconds since the epoch. */
  now: number;
  /** Timeout for a new replica to become healthy. */
  startMs: number;
  /** False if the host has no room for a second replica next to this one. */
  hasRoom: (replica: ReplicaRow) => boolean;
}

/**
 * Decides which of a host's failing replicas to replace now. A release's replicas are replaced one after another, so
 * that an external fault, such as an unreachable database, never stops all of them.
 */
export function planReplacements(rows: readonly ReplicaRow[], options: ReplacementOptions): ReplacementAction[] {
  const releases = new Map<string, ReplicaRow[]>();
  for (const row of rows) {
    if (row.desired !== 'running' || row.state === 'stopped') continue;
    const known = releases.get(row.deployment_id);
    if (known) known.push(row);
    else releases.set(row.deployment_id, [row]);
  }
  return [...releases.values()].flatMap((release) => planRelease(release, options));
}

function planRelease(release: readonly ReplicaRow[], options: ReplacementOptions): ReplacementAction[] {
  const successors = release.filter((row) => row.replaces !== null);
  if (successors.length > 0) return successors.flatMap((row) => planSuccessor(row, release, options));
  // Two generations mean that a restart is in progress, which replaces all replicas.
  if (release.some((row) => row.generation !== release[0]?.generation)) return [];
  if (release.some((row) => isComingUp(row, options))) return [];
  const [failing] = release
    .filter((row) => isDue(row, options))
    .sort(
      (a, b) =>
        time(a.failing_since ?? a.started_at) - time(b.failing_since ?? b.started_at) || a.position - b.position,
    );
  if (!failing) return [];
  const allFail = release.length > 1 && release.every((row) => row.state === 'unhealthy');
  if (failing.surge_failed) return [{ type: 'restartInPlace', failing, allFail, why: 'did not help' }];
  if (!options.hasRoom(failing)) return [{ type: 'restartInPlace', failing, allFail, why: 'no room' }];
  return [{ type: 'begin', failing, allFail }];
}

function planSuccessor(
  successor: ReplicaRow,
  release: readonly ReplicaRow[],
  { now, startMs }: ReplacementOptions,
): ReplacementAction[] {
  const failing = release.find((row) => row.id === successor.replaces);
  if (!failing) return [{ type: 'drop', successor }];
  if (successor.state === 'ready') return [{ type: 'finish', failing, successor }];
  if (failing.state === 'ready') return [{ type: 'drop', successor }];
  const hasFailed = successor.state === 'exited' && successor.ready_at === null;
  const isLate = now - successor.created_at.getTime() >= startMs;
  return hasFailed || isLate ? [{ type: 'abandon', failing, successor }] : [];
}

/** Returns true for a replica that was restarted in place and may still become healthy in time. */
function isComingUp(row: ReplicaRow, { now, startMs }: Pick<ReplacementOptions, 'now' | 'startMs'>): boolean {
  const begun = Math.max(row.created_at.getTime(), time(row.next_start_at));
  return row.replacements > 0 && !['ready', 'unhealthy'].includes(row.state) && now - begun < startMs;
}

/** True if a replica that was healthy before has failed for too long, or did not recover after a restart. */
function isDue(row: ReplicaRow, { now, startMs }: Pick<ReplacementOptions, 'now' | 'startMs'>): boolean {
  if (row.ready_at === null || time(row.replace_at) > now) return false;
  if (row.state === 'unhealthy') return row.replace_at !== null;
  return row.state === 'starting' && row.started_at !== null && now - row.started_at.getTime() >= startMs;
}

function time(date: Date | null): number {
  return date?.getTime() ?? 0;
}

/** Returns the line for the service's log about an action; '' for none. */
export function replacementMessage(action: ReplacementAction, now: number, retryMs: number): string {
  switch (action.type) {
    case 'begin':
      return `${trouble(action.failing, now)}: a new one starts beside it and takes its place when it is healthy${together(action.allFail)}`;
    case 'restartInPlace': {
      const why =
        action.why === 'no room'
          ? 'there is no memory for a second one beside it'
          : 'a new one beside it did not become healthy';
      return `${trouble(action.failing, now)}: it is stopped and started again, because ${why}${together(action.allFail)}`;
    }
    case 'finish':
      return `The new replica ${action.failing.position} is healthy: it takes the place of the one that failed its health check`;
    case 'abandon': {
      const { position } = action.failing;
      const cause = causeOf(action.successor);
      return `The new replica ${position} did not become healthy (${cause}): the old one stays, and the next try begins in ${seconds(retryMs)} s`;
    }
    case 'drop':
      return '';
  }
}

function trouble(row: ReplicaRow, now: number): string {
  const since = row.failing_since ?? row.started_at;
  const lasted = since === null ? '' : ` for ${seconds(now - since.getTime())} s`;
  const answer = row.health_answer === '' ? '' : ` (the last answer: ${row.health_answer})`;
  return `Replica ${row.position} has failed its health check${lasted}${answer}`;
}

function together(allFail: boolean): string {
  return allFail ? '; every replica fails, and they are replaced one after another' : '';
}

function causeOf(row: ReplicaRow): string {
  if (row.state === 'exited' || row.exit_detail !== '') return `it ${row.exit_detail}`;
  return row.health_answer === '' ? 'it gave no good answer in time' : row.health_answer;
}

function seconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}
