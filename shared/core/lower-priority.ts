import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Gives a process a lower CPU priority than the worker, services and the edge. The process must be a session leader:
 * kernels with autogroups first divide CPU time between sessions, and each session has its own priority.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    setPriority(pid, priority);
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // The process has exited, or the system forbids the change or does not support autogroups.
  }
}
