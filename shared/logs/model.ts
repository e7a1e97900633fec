import type { DueColumns } from '../engine/kind.js';
import { PLANS } from '../services/plan-catalog.js';

export const LOG_SOURCES = ['build', 'runtime', 'system'] as const;
export type LogSource = (typeof LOG_SOURCES)[number];

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogLine {
  level: LogLevel;
  message: string;
  /** ISO 8601. */
  timestamp: string;
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

/** Days between the day of a line and the day on which it expires, for each retention that a plan has. */
export const EXPIRY_DAYS: readonly number[] = [...new Set(PLANS.map(({ logDays }) => logDays + 1))];

/** Returns how many days ahead partitions are made: the longest retention, plus two days for the sweep. */
export function daysAhead(): number {
  return MAX_LOG_DAYS + 3;
}

/** Returns for how many days the lines of a service with this plan are kept. Databases' plans keep them longest. */
export function logDaysOf(planId: string): number {
  return PLANS.find(({ id }) => id === planId)?.logDays ?? MAX_LOG_DAYS;
}

/** SQL: the days between the day of a line and its expiry, by the plan of the service `s`. */
export const DAYS_TO_EXPIRY = `case s.configuration ->> 'plan' ${PLANS.map(
  ({ id, logDays }) => `when '${id}' then ${logDays + 1}`,
).join(' ')} else ${MAX_LOG_DAYS + 1} end`;

/** Returns SQL: the day on which a line of this time expires. `days` is `DAYS_TO_EXPIRY` of its service. */
export function expiresOn(loggedAt: string, days: string): string {
  return `(${loggedAt} at time zone 'UTC')::date + ${days}`;
}
