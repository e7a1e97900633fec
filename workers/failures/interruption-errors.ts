/** Why work was stopped from outside. Being stopped is not a failure. */
export type Interruption = 'cancelled' | 'superseded' | 'shutdown';

/** The reason of an abort signal that stops a job from outside. Code that catches it must clean up and rethrow it. */
export class Interrupted extends Error {
  readonly why: Interruption;
  constructor(why: Interruption) {
    super(`interrupted: ${why}`);
    this.name = 'Interrupted';
    this.why = why;
  }
}

/** Thrown when a job's work has failed for good and its record says so. The job then fails too and is not retried. */
export class JobFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JobFailed';
  }
}
