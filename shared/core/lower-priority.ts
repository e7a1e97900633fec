import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Gives a process a lower priority than the worker, services and the edge.
 * It must lead its own session: kernels that first share the processor between sessions (autogroups) have a priority
 * for each.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, priority);
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // The process has ended, or the system forbids the change or has no autogroups.
  }
}
