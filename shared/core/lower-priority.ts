import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Gives a process a lower priority than the worker, services and the edge. It must lead a session of its own: kernels that share
 * the processor between sessions first (autogroups) have a priority for each session.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, priority);
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // It has ended, or the system does not allow it or has no such groups.
  }
}
