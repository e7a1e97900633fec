import type { LogFn, Logger } from 'pino';

const SHOWN = 10;
const WINDOW_MS = 60_000;
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
 * Limits repeated warnings and errors to ten per kind and minute, and then logs how many were omitted. Messages that
 * differ only in numbers and ids are of one kind.
 */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>();
  readonly #windowMs: number;

  constructor(windowMs = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

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

function messageOf(args: readonly unknown[]): string {
  const [first, second] = args;
  const message = typeof first === 'string' ? first : typeof second === 'string' ? second : undefined;
  return (message ?? errorOf(first)).slice(0, MAX_KIND_LENGTH);
}

function errorOf(value: unknown): string {
  const error = (value as { err?: unknown } | null)?.err ?? value;
  return error instanceof Error ? error.message : '';
}

function kindOf(message: string): string {
  return message.replace(/[0-9a-f-]{8,}|\d+/gi, '#');
}
