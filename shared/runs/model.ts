import type { LeasedColumns } from '../engine/kind.js';
import type { PlanId } from '../services/plan-catalog.js';

/** A run is one execution of a command with a service's release. */
export const RUN_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const RUN_TRIGGERS = ['schedule', 'manual', 'deployment'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];

export const MAX_COMMAND_LENGTH = 4096;

export interface RunRow extends LeasedColumns<RunStatus> {
  number: number;
  service_id: string;
  deployment_id: string;
  trigger: RunTrigger;
  actor: string;
  command: string | null;
  plan: PlanId | null;
  attempt: number;
  max_retries: number;
  timeout_seconds: number;
  scheduled_at: Date;
  not_before: Date;
  exit_code: number | null;
  cancel_requested_at: Date | null;
  admitted_at: Date | null;
  started_at: Date | null;
}

export type AttemptOutcome =
  /** `detail` continues a sentence: "exited with code 1". The exit code is null after a signal. */
  | { type: 'exited'; exitCode: number | null; detail: string }
  | { type: 'timeout' }
  /** The attempt did not start in time. */
  | { type: 'notStarted'; detail: string };

export type RunDecision =
  | { type: 'end'; status: 'succeeded' | 'failed'; exitCode: number | null; error: string }
  | { type: 'retry'; delayMs: number; exitCode: number | null; error: string };

const MAX_RETRY_DELAY_MS = 3_600_000;

/** Decides what follows an attempt of a run. A command that timed out is not retried: it would probably hang again. */
export function decideRun(
  outcome: AttemptOutcome,
  { attempt, maxRetries, timeoutSeconds }: { attempt: number; maxRetries: number; timeoutSeconds: number },
  firstRetryMs: number,
): RunDecision {
  if (outcome.type === 'exited' && outcome.exitCode === 0) {
    return { type: 'end', status: 'succeeded', exitCode: 0, error: '' };
  }
  if (outcome.type === 'timeout') {
    const error = `did not end within ${timeoutSeconds} s, its timeoutSeconds, and was ended`;
    return { type: 'end', status: 'failed', exitCode: null, error };
  }
  const exitCode = outcome.type === 'exited' ? outcome.exitCode : null;
  const error = outcome.detail;
  if (attempt > maxRetries) return { type: 'end', status: 'failed', exitCode, error };
  return { type: 'retry', delayMs: retryDelayMs(firstRetryMs, attempt), exitCode, error };
}

/** Returns the delay after the attempt with this number, in milliseconds. It doubles each time, up to an hour. */
export function retryDelayMs(firstMs: number, attempt: number): number {
  return Math.min(firstMs * 2 ** Math.min(attempt - 1, 30), MAX_RETRY_DELAY_MS);
}
