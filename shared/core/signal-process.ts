/**
 * Sends a signal to a process. Returns false if the process has already ended.
 * Throws any other error of the system, for example EPERM.
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

/** Sends a signal to a process group, named by the pid of its leader. */
export function signalGroup(leader: number, name: NodeJS.Signals): boolean {
  return signalProcess(-leader, name);
}
