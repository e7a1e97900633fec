import { type Logger, type LoggerOptions, pino } from 'pino';
import { RepeatedLines } from './repeated-lines.js';

export type { Logger };

/**
 * Creates the process's logger. It writes one JSON line per event, with the process's name, and limits repeated errors.
 */
export function createLogger(name: string, level: string): Logger {
  const output = pino.destination(1);
  // If the reader of the output has exited, the process keeps working without a log.
  output.on('error', () => undefined);
  const redact = ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.apiKey'];
  const repeated = new RepeatedLines();
  const hooks: LoggerOptions['hooks'] = {
    logMethod(args, method, lineLevel) {
      if (repeated.admit(this, args, method, lineLevel)) method.apply(this, args);
    },
  };
  return pino({ name, level, redact, hooks }, output);
}
