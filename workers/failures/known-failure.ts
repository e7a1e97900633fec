/** What is known about a failure besides its output. */
export interface FailureFacts {
  /** `build`: a command of a build failed. `start`: the application or its pre-deploy command failed. */
  phase: 'build' | 'start';
  memoryMb: number;
  /** True if the repository has submodules, which are not checked out. */
  hasSubmodules?: boolean | undefined;
}

export interface KnownFailure {
  name: string;
  phase?: FailureFacts['phase'];
  /** Matches a line of output. To match in linear time, repetitions have a limit and follow literal text. */
  shows: RegExp;
  /** Returns true if the failure is possible with these facts. */
  when?: (facts: FailureFacts) => boolean;
  /** Two sentences: what happened, and what to do. */
  advice: (found: RegExpExecArray, facts: FailureFacts) => string;
}
