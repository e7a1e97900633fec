import { type Logger, type LoggerOptions, pino } from 'pino';
import { RepeatedLines } from './repeated-lines.js';

export type { Logger };

/** Creates the process's logger, which writes a line of JSON per event and limits repeated errors. */
export function createLogger(name: string, level: string): Logger {
  const output = pino.destination(1);
  // The process keeps working if the reader of its output exits.
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
