import type { AttemptOutcome } from '../../shared/runs/model.js';
import type { ReplicaRow } from '../replicas/rows.js';

type Attempt = Pick<ReplicaRow, 'state' | 'started_at' | 'created_at' | 'exit_code' | 'exit_detail'>;

export type AttemptProgress = AttemptOutcome | { type: 'pending'; nextMs: number };

/** Decides whether an attempt of a run has ended. `now` is in milliseconds since the epoch. */
export function attemptProgress(
  row: Attempt | null,
  { now, startMs, timeoutMs }: { now: number; startMs: number; timeoutMs: number },
): AttemptProgress {
  if (row === null) return { type: 'exited', exitCode: null, detail: 'was removed by somebody else' };
  if (row.state === 'exited') return { type: 'exited', exitCode: row.exit_code, detail: row.exit_detail };
  if (row.state === 'stopped') return { type: 'exited', exitCode: null, detail: 'was stopped by somebody else' };
  if (row.state === 'pending' || row.started_at === null) {
    const left = row.created_at.getTime() + startMs - now;
    if (left > 0) return { type: 'pending', nextMs: left };
    const detail = `was not started within ${Math.round(startMs / 1000)} s: ${row.exit_detail || 'is a worker running on the host?'}`;
    return { type: 'notStarted', detail };
  }
  const left = row.started_at.getTime() + timeoutMs - now;
  return left > 0 ? { type: 'pending', nextMs: left } : { type: 'timeout' };
}
