/** What is known about a failure besides its output. */
export interface FailureFacts {
  /** `build`: a command of a build failed. `start`: the application or its pre-deploy command failed. */
  phase: 'build' | 'start';
  /** Memory limit of the command, in MB. */
  memoryMb: number;
  /** True if the repository has submodules, which are not checked out. */
  hasSubmodules?: boolean | undefined;
}

/** A failure that is common in many projects. */
export interface KnownFailure {
  /** A name for tests and for readers of `KNOWN_FAILURES`. */
  name: string;
  phase?: FailureFacts['phase'];
  /**
   * Matches a line of output that indicates the failure. Lines have at most 400 characters, and expressions use
   * repetition only with a limit and after literal text, so that they take linear time for every output.
   */
  shows: RegExp;
  /**
   * Returns true if the failure is possible with these facts. If `when` is absent, a matching line of output
   * suffices.
   */
  when?: (facts: FailureFacts) => boolean;
  /** Two sentences: what happened, and what to do. */
  advice: (found: RegExpExecArray, facts: FailureFacts) => string;
}
