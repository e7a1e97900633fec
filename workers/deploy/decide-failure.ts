import { errorMessage } from '../../shared/core/errors.js';
import { type ActiveState, canBeCancelled, type TerminalState } from '../../shared/deployments/model.js';
import type { Failure } from '../failures.js';

/** What the driver does with a deployment whose step did not come to its end. */
export type Action =
  /** Stop what the deployment started, complete its log, then end it. */
  | { type: 'end'; state: Exclude<TerminalState, 'live'>; cause: string }
  /** Give the deployment back: another try, or another worker, goes on from this state. */
  | { type: 'handBack'; fault: unknown }
  | { type: 'handOver' }
  /** Another worker holds the deployment: change nothing. */
  | { type: 'leave' };

/**
 * Decides what follows from a step's failure. `lastTry` is true if the queue will not try a fault of the platform again.
 * A deployment that visitors already see can only become live: it is handed back until it does.
 */
export function decide(state: ActiveState, failure: Failure, lastTry: boolean): Action {
  if (failure.type === 'interrupted') {
    if (failure.why === 'superseded') return { type: 'leave' };
    if (failure.why === 'cancelled' && canBeCancelled(state)) return { type: 'end', state: 'cancelled', cause: '' };
    return { type: 'handOver' };
  }
  const fault = failure.type === 'failed' ? new Error(failure.cause) : failure.error;
  if (!canBeCancelled(state)) return { type: 'handBack', fault };
  if (failure.type === 'failed') return { type: 'end', state: 'failed', cause: failure.cause };
  if (!lastTry) return { type: 'handBack', fault };
  return { type: 'end', state: 'failed', cause: `internal error: ${errorMessage(fault)}` };
}
