import type { ReplicaRow } from '../replicas/rows.js';

type Rolled = Pick<ReplicaRow, 'state' | 'position' | 'ready_at'>;

export type RolloutOutcome<T extends Rolled = ReplicaRow> =
  | { type: 'ready' }
  | { type: 'stopped' }
  /** The replica `row` exited before it was ever ready. */
  | { type: 'failed'; row: T }
  | { type: 'late' }
  /** At some positions an old replica was still stopping, so new replicas must be requested again. */
  | { type: 'incomplete' }
  | { type: 'pending' };

/**
 * Decides the state of a rollout from the replicas of one generation. A replica at a position above `count` remains
 * from an earlier, larger count. Such a replica need not be ready, but if it fails, the rollout fails.
 */
export function rolloutOutcome<T extends Rolled>(
  rows: readonly T[],
  count: number,
  isLate: boolean,
): RolloutOutcome<T> {
  if (rows.length === 0) return { type: 'stopped' };
  const complete = rows.length >= count;
  if (complete && rows.every((row) => row.state === 'ready' || row.position > count)) return { type: 'ready' };
  const failed = rows.find((row) => row.state === 'exited' && row.ready_at === null);
  if (failed) return { type: 'failed', row: failed };
  if (isLate) return { type: 'late' };
  return { type: complete ? 'pending' : 'incomplete' };
}

/** Returns the oldest generation, which a restart replaces, and how many new replicas to start. */
export function generationToReplace(
  rows: readonly Pick<ReplicaRow, 'generation'>[],
  wanted: number,
): { generation: number; count: number } {
  const generation = rows.length === 0 ? 0 : Math.min(...rows.map((row) => row.generation));
  return { generation, count: rows.filter((row) => row.generation === generation).length || wanted };
}
