/** Sends a signal to a process. Returns false if it has exited. Throws other system errors, such as EPERM. */
export function signalProcess(pid: number, name: NodeJS.Signals | number): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** Sends a signal to the process group led by `leader`. Returns false if the group is empty. */
export function signalGroup(leader: number, name: NodeJS.Signals): boolean {
  return signalProcess(-leader, name);
}
