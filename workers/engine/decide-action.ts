import { errorMessage } from '../../shared/core/error-registry.js';
import type { Transitions } from '../../shared/engine/kind.js';
import type { Failure } from '../failures/classify-failure.js';

/** What happens to a record whose work did not reach its end. */
export type Action =
  /** Stop what the work started, complete its log, then end the record. */
  | { type: 'end'; state: 'failed' | 'cancelled'; cause: string }
  /** Release the record. The next try, or another worker, continues in this state. */
  | { type: 'handBack'; fault: unknown }
  | { type: 'handOver' }
  /** Another worker holds the record: change nothing. */
  | { type: 'leave' };

/**
 * Decides what follows from a failure, for every kind of work.
 * `state` lists the events that are possible in the record's state. After the last attempt, the queue does not retry a
 * fault of the platform. A state that can neither fail nor be cancelled continues until its work succeeds.
 */
export function decide(state: Transitions, failure: Failure, { lastAttempt }: { lastAttempt: boolean }): Action {
  if (failure.type === 'interrupted') {
    if (failure.why === 'superseded') return { type: 'leave' };
    if (failure.why === 'cancelled' && 'cancelled' in state) return { type: 'end', state: 'cancelled', cause: '' };
    return { type: 'handOver' };
  }
  const fault = failure.type === 'failed' ? new Error(failure.cause) : failure.error;
  if (!('failed' in state)) return { type: 'handBack', fault };
  if (failure.type === 'failed') return { type: 'end', state: 'failed', cause: failure.cause };
  if (!lastAttempt) return { type: 'handBack', fault };
  return { type: 'end', state: 'failed', cause: `internal error: ${errorMessage(fault)}` };
}
