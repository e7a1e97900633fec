import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Lowers the CPU priority of a process. The process must be a session leader, because kernels with autogroups divide
 * CPU time between sessions first.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, priority);
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // The process has exited, or the system forbids the change or has no autogroups.
  }
}
