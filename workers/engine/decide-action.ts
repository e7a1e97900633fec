import { errorMessage } from '../../shared/core/error-registry.js';
import type { Transitions } from '../../shared/engine/kind.js';
import type { Failure } from '../failures/classify-failure.js';

/** What the engine does with a record whose handler failed or was interrupted. */
export type Action =
  | { type: 'end'; state: 'failed' | 'cancelled'; cause: string }
  /** Release the record in its current state. A retry or another worker continues from there. */
  | { type: 'handBack'; fault: unknown }
  | { type: 'handOver' }
  /** Another worker holds the record: change nothing. */
  | { type: 'leave' };

/**
 * Decides how to handle a failure. `state` lists the events that are possible in the record's state. After the last
 * attempt, a fault of the platform fails the record, because the queue does not retry it.
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
