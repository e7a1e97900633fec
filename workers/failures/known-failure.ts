/** What is known about a failure besides its output. */
export interface FailureFacts {
  /** `build`: a command of a build failed. `start`: the application or a command of its release ended. */
  phase: 'build' | 'start';
  /** The memory that the command had, in MB. */
  memoryMb: number;
  /** True if the repository has submodules, which are not checked out. */
  hasSubmodules?: boolean | undefined;
}

/** One kind of failure that projects have often. */
export interface KnownFailure {
  /** For tests and the reader of this table. */
  name: string;
  phase?: FailureFacts['phase'];
  /**
   * A line of output with which the failure shows. Lines have at most 400 characters, and the expressions only bounded
   * repetitions behind literal text, so that the time is linear whatever a tenant prints.
   */
  shows: RegExp;
  /** True if other facts agree. */
  when?: (facts: FailureFacts) => boolean;
  /** Two sentences: what happened, and what to do. */
  advice: (found: RegExpExecArray, facts: FailureFacts) => string;
}
