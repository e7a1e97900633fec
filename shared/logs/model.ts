import type { DueColumns } from '../engine/kind.js';
import { PLANS } from '../services/plan-catalog.js';

export const LOG_SOURCES = ['build', 'runtime', 'system'] as const;
export type LogSource = (typeof LOG_SOURCES)[number];

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogLine {
  level: LogLevel;
  message: string;
  /** In ISO 8601. */
  timestamp: string;
}

/** Returns a log line written by the platform itself. `now` is in milliseconds since 1970. */
export function platformLine(message: string, now: number): LogLine {
  return { level: 'info', message, timestamp: new Date(now).toISOString() };
}

export interface LogBatchRow extends DueColumns {
  service_id: string;
  deployment_id: string | null;
  run_id: string | null;
  source: LogSource;
  lines: LogLine[];
}

export interface LogLineRow {
  service_id: string;
  id: number;
  deployment_id: string | null;
  run_id: string | null;
  source: LogSource;
  level: LogLevel;
  message: string;
  logged_at: Date;
}

const MAX_LOG_DAYS = Math.max(...PLANS.map(({ logDays }) => logDays));

/** Days from the logging of a line to its expiry, one number for each log retention that a plan offers. */
export const EXPIRY_DAYS: readonly number[] = [...new Set(PLANS.map(({ logDays }) => logDays + 1))];

/** Returns for how many days ahead partitions of log lines are created. Two days are a reserve for a late sweep. */
export function daysAhead(): number {
  return MAX_LOG_DAYS + 3;
}

/** Returns the log retention of a service with this plan, in days. Database plans have the longest. */
export function logDaysOf(planId: string): number {
  return PLANS.find(({ id }) => id === planId)?.logDays ?? MAX_LOG_DAYS;
}

/** SQL: days from the logging of a line to its expiry, for a service `s`. */
export const DAYS_TO_EXPIRY = `case s.configuration ->> 'plan' ${PLANS.map(
  ({ id, logDays }) => `when '${id}' then ${logDays + 1}`,
).join(' ')} else ${MAX_LOG_DAYS + 1} end`;

/** Returns SQL for the day on which a line logged at this time expires. `days` is `DAYS_TO_EXPIRY` of its service. */
export function expiresOn(loggedAt: string, days: string): string {
  return `(${loggedAt} at time zone 'UTC')::date + ${days}`;
}
