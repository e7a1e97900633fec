import type { ReplicaRow } from '../../shared/replicas/rows.js';

/** Lines of output that a failure quotes. */
export const QUOTED_LINES = 8;

/**
 * How a replica or a command ended, as text that follows its name. `text` is an exit code, "signal <name>" or
 * "out-of-memory"; '' means that the end was not observed.
 */
export function exitDetail(text: string, memoryMb: number): string {
  if (text === 'out-of-memory') return `was killed: it used more than the ${memoryMb} MB of memory its plan allows`;
  if (text.startsWith('signal ')) return `was ended by ${text.slice('signal '.length)}`;
  return text === '' ? 'ended without an exit code' : `exited with code ${text}`;
}

/** Why a replica ended before it was ever ready, with its last output. */
export function exitMessage(
  { position, exit_detail: detail }: Pick<ReplicaRow, 'position' | 'exit_detail'>,
  output: readonly string[],
): string {
  const cause = `replica ${position} ${detail}`;
  if (neverRan(detail)) return cause;
  return `${cause} before it was healthy; ${output.length === 0 ? 'it printed nothing' : quoted(output)}`;
}

/** True if the start itself failed: nothing of the application ever ran, so there is no output to quote. */
export function neverRan(detail: string): boolean {
  return detail.startsWith('could not be started');
}

/** Why a command failed, with its last output. `cause` follows the command, for instance "exited with code 1". */
export function commandMessage(command: string, cause: string, output: readonly string[]): string {
  return `the command "${command}" ${cause}${output.length === 0 ? '' : `; ${quoted(output)}`}`;
}

function quoted(output: readonly string[]): string {
  return `its last output: ${output.join('\n')}`;
}
