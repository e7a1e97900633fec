import { escaped } from './text.js';

/** How `rnv` ends. Scripts rely on these numbers. */
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
  /** The wait ended; the work goes on. */
  timedOut: 22,
  interrupted: 130,
} as const;

/** Ends the command with a message for people, which may quote others, and an exit code for scripts. */
export class CliError extends Error {
  readonly exitCode: number;

  /** `exitCode` is one of `EXIT`, or that of a command that was run. */
  constructor(exitCode: number, message: string) {
    super(escaped(message));
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** An answer that is missing without a terminal. `flag` is what gives it. */
export function missingAnswer(what: string, flag: string): CliError {
  return new CliError(EXIT.usage, `${what}: give ${flag} (there is no terminal to ask in)`);
}

/** The exit code of a failed answer of the API. */
export function exitCodeOf(status: number): number {
  switch (status) {
    case 400:
    case 413:
      return EXIT.usage;
    case 401:
      return EXIT.notSignedIn;
    case 403:
      return EXIT.forbidden;
    case 404:
      return EXIT.notFound;
    case 409:
      return EXIT.conflict;
    case 429:
      return EXIT.rateLimited;
    case 502:
    case 503:
    case 504:
      return EXIT.unreachable;
    default:
      return EXIT.unexpected;
  }
}
