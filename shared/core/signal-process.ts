/**
 * Sends a signal to a process. Returns false if the process has already exited. Throws any other system error, such as
 * EPERM.
 */
export function signalProcess(pid: number, name: NodeJS.Signals | number): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** Sends a signal to the process group led by `leader`. Returns false if the group has no process. */
export function signalGroup(leader: number, name: NodeJS.Signals): boolean {
  return signalProcess(-leader, name);
}
