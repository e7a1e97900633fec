import { type Logger, pino } from 'pino';

export type { Logger };

/** The process's logger: one JSON line an event, with the process's name on each. */
export function createLogger(name: string, level: string): Logger {
  return pino({
    name,
    level,
    redact: ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.apiKey'],
  });
}
