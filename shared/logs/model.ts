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

/** Rows as pg gives them to us. Column comments are in the migrations. */
export interface LogBatchRow {
  id: string;
  service_id: string;
  deployment_id: string | null;
  source: LogSource;
  lines: LogLine[];
  dispatches: number;
  due_at: Date | null;
  created_at: Date;
}

export interface LogLineRow {
  service_id: string;
  id: number;
  deployment_id: string | null;
  source: LogSource;
  level: LogLevel;
  message: string;
  logged_at: Date;
}
