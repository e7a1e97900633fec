/** Why work was stopped from outside: nothing failed. */
export type Interruption = 'cancelled' | 'superseded' | 'shutdown';

/** The reason of every abort signal in the workshop; whoever sees it cleans up and passes it on. */
export class Interrupted extends Error {
  readonly why: Interruption;
  constructor(why: Interruption) {
    super(`interrupted: ${why}`);
    this.name = 'Interrupted';
    this.why = why;
  }
}

/** Work that has failed for good and is recorded as such: the job fails too, and is not tried again. */
export class JobFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JobFailed';
  }
}
