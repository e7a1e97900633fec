import { ADVICE_LINES, adviceFor, memoryAdvice, withAdvice } from '../failures/failure-advice.js';
import type { ReplicaRow } from '../replicas/rows.js';

const QUOTED_LINES = 8;
/**
 * Matches the lines of a stack trace and the last line of a Node.js crash report. They would displace the application's
 * error message in a failure message.
 */
const TELLS_NOTHING = /^\s+at .*(?::\d+|<anonymous>)\)?$|^Node\.js v\d/;
export const SEARCHED_LINES = ADVICE_LINES;

/** Returns how a command ended. `text` is an exit code, "signal <name>", "out-of-memory" or '' (unknown). */
export function exitDetail(text: string, memoryMb: number): string {
  if (text === 'out-of-memory') return `was killed: it used more than the ${memoryMb} MB of memory its plan allows`;
  if (text.startsWith('signal ')) return `was ended by ${text.slice('signal '.length)}`;
  return text === '' ? 'ended without an exit code' : `exited with code ${text}`;
}

/** Returns why a replica exited before it was ever ready, with its last output and advice. */
export function exitMessage(
  { position, exit_detail: detail }: Pick<ReplicaRow, 'position' | 'exit_detail'>,
  output: readonly string[],
  memoryMb: number,
): string {
  const cause = `replica ${position} ${detail}`;
  if (neverRan(detail)) return cause;
  const text = `${cause} before it was healthy; ${output.length === 0 ? 'it printed nothing' : quoted(output)}`;
  return withAdvice(text, startAdvice(detail, output, memoryMb));
}

/** Returns true if the start itself failed: the application never ran, so there is no output to quote. */
export function neverRan(detail: string): boolean {
  return detail.startsWith('could not be started');
}

/** Returns why a command failed, with its last output and advice. */
export function commandMessage(command: string, cause: string, output: readonly string[], memoryMb: number): string {
  const text = `the command "${command}" ${cause}${output.length === 0 ? '' : `; ${quoted(output)}`}`;
  return withAdvice(text, startAdvice(cause, output, memoryMb));
}

export const LISTENS_NOWHERE =
  'The application must listen on the port in the variable PORT. If it does not answer requests, make it a service of the kind worker.';
export const LISTENS_ELSEWHERE =
  'Make the application listen on the port in the variable PORT, on all addresses (0.0.0.0).';
export const ANSWERS_BADLY =
  'The release is healthy when this path answers with 2xx or 3xx. Correct the application, or set healthCheckPath to another path.';

/** Returns advice for an application that exited; null if its output shows no cause. */
export function startAdvice(detail: string, output: readonly string[], memoryMb: number): string | null {
  const facts = { phase: 'start', memoryMb } as const;
  return detail.startsWith('was killed: it used more') ? memoryAdvice(facts) : adviceFor(output, facts);
}

function quoted(output: readonly string[]): string {
  const telling = output.filter((line) => line.trim() !== '' && !TELLS_NOTHING.test(line));
  return `its last output: ${(telling.length > 0 ? telling : output).slice(-QUOTED_LINES).join('\n')}`;
}
