import { inspect } from 'node:util';

const REDACTED = '[REDACTED]';

/** A value that must not be logged by accident. Any conversion to text gives `[REDACTED]`. */
export class Sensitive {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

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
