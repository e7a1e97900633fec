import { inspect } from 'node:util';

const REDACTED = '[REDACTED]';

/** A value that must not be logged by accident. Converting it to text in any way results in `[REDACTED]`. */
export class Sensitive {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value itself. Call this only where the value is used. */
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
