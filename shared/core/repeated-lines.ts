import type { LogFn, Logger } from 'pino';

/** Maximum number of lines of one kind that are written per minute. Further lines are only counted. */
const SHOWN = 10;
const WINDOW_MS = 60_000;
/** Maximum number of kinds of lines that are counted at once. If it is reached, a new kind replaces the oldest. */
const MAX_KINDS = 500;
const MAX_KIND_LENGTH = 200;
const WARN = 40;
const FATAL = 60;

interface Kind {
  logger: Logger;
  method: LogFn;
  message: string;
  seen: number;
  timer: NodeJS.Timeout;
}

/**
 * Limits repeated warnings and errors to ten per kind and minute. Messages are of one kind if they differ only in
 * numbers and ids. After the minute, one line reports the number of omitted lines. Lower levels and fatal errors always
 * pass.
 */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>();
  readonly #windowMs: number;

  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /** Returns true if the line should be written. Otherwise counts it as omitted. */
  admit(logger: Logger, args: readonly unknown[], method: LogFn, level: number): boolean {
    if (level < WARN || level >= FATAL) return true;
    const message = messageOf(args);
    const name = `${level} ${kindOf(message)}`;
    const kind = this.#kinds.get(name);
    if (kind) return ++kind.seen <= SHOWN;
    const [oldest] = this.#kinds.keys();
    if (oldest !== undefined && this.#kinds.size >= MAX_KINDS) this.#end(oldest);
    const timer = setTimeout(() => this.#end(name), this.#windowMs);
    timer.unref();
    this.#kinds.set(name, { logger, method, message, seen: 1, timer });
    return true;
  }

  #end(name: string): void {
    const kind = this.#kinds.get(name);
    if (!kind) return;
    this.#kinds.delete(name);
    clearTimeout(kind.timer);
    const repeats = kind.seen - SHOWN;
    if (repeats <= 0) return;
    kind.method.call(kind.logger, { repeats }, `${repeats} more lines like this one are left out: ${kind.message}`);
  }
}

/** Returns the message of a log call. Its arguments are a message, or fields (or an error) and a message. */
function messageOf(args: readonly unknown[]): string {
  const [first, second] = args;
  const message = typeof first === 'string' ? first : typeof second === 'string' ? second : undefined;
  return (message ?? errorOf(first)).slice(0, MAX_KIND_LENGTH);
}

function errorOf(value: unknown): string {
  const error = (value as { err?: unknown } | null)?.err ?? value;
  return error instanceof Error ? error.message : '';
}

/** Replaces ids and numbers, which differ between lines of one kind. */
function kindOf(message: string): string {
  return message.replace(/[0-9a-f-]{8,}|\d+/gi, '#');
}
