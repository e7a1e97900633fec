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
