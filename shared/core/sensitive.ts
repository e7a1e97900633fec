import { inspect } from 'node:util';

const REDACTED = '[REDACTED]';

/** A value that must not reach a log by accident: every way of printing it shows `[REDACTED]`. */
export class Sensitive {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value itself. Call this at the place of use only. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
