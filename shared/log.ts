import { type Logger, pino } from 'pino';

export type { Logger };

/** The process's logger: one JSON line an event, with the process's name on each. */
export function createLogger(name: string, level: string): Logger {
  const output = pino.destination(1);
  // Where nobody reads our output any more, the work goes on.
  output.on('error', () => undefined);
  const redact = ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.apiKey'];
  return pino({ name, level, redact }, output);
}
