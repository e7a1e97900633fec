import { escaped } from './terminal-text.js';

/** The exit codes of `rnv`. Scripts rely on these numbers. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  notSignedIn: 3,
  forbidden: 4,
  notFound: 5,
  conflict: 6,
  rateLimited: 7,
  unreachable: 8,
  failed: 20,
  cancelled: 21,
  /** The timeout of the command was reached. The work continues on the platform. */
  timedOut: 22,
  interrupted: 130,
} as const;

/** An error that makes `rnv` exit, with a message for the user and an exit code for scripts. */
export class CliError extends Error {
  readonly exitCode: number;

  /** `exitCode` is one of `EXIT`, or the exit code of a command that was run. */
  constructor(exitCode: number, message: string) {
    super(escaped(message));
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** Returns the error for a question that cannot be asked without a terminal. `flag` is the option to use instead. */
export function missingAnswer(what: string, flag: string): CliError {
  return new CliError(EXIT.usage, `${what}: give ${flag} (there is no terminal to ask in)`);
}

type ExitCode = (typeof EXIT)[keyof typeof EXIT];
const BY_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  413: EXIT.usage,
  401: EXIT.notSignedIn,
  403: EXIT.forbidden,
  404: EXIT.notFound,
  409: EXIT.conflict,
  429: EXIT.rateLimited,
  502: EXIT.unreachable,
  503: EXIT.unreachable,
  504: EXIT.unreachable,
};

export function exitCodeOf(status: number): ExitCode {
  return BY_STATUS[status] ?? EXIT.unexpected;
}
