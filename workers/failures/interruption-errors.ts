/** Why work was stopped from outside. A stop is not a failure. */
export type Interruption = 'cancelled' | 'superseded' | 'shutdown';

/** The reason of every abort signal in a worker. Code that catches it cleans up and throws it again. */
export class Interrupted extends Error {
  readonly why: Interruption;
  constructor(why: Interruption) {
    super(`interrupted: ${why}`);
    this.name = 'Interrupted';
    this.why = why;
  }
}

/** The work failed for good, and its record says so. The job fails too and is not tried again. */
export class JobFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JobFailed';
  }
}
