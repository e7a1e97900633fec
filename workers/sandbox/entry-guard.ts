import { startGuard } from './own-child.js';
import { MAX_PROCESS_BYTES } from './process-table.js';

/**
 * Waits until its standard input is closed, which happens at the latest when the worker dies. Then kills the processes
 * of a cgroup or, without one, the processes with a certain environment variable. With `namespace`, also kills the
 * processes in the script's own UTS namespace. Arguments: the variable (`name=value`); the cgroup's folder, or '';
 * `marks` or `namespace`.
 */
const GUARD = `
trap '' HUP INT TERM
cd /proc
echo ready
read -r _
tries=0
while [ "$tries" -lt 200 ]; do
  if [ -n "$2" ]; then
    pids=$(cat "$2/cgroup.procs" 2>/dev/null)
  else
    pids=
    for found in [0-9]*; do
      # Threads of the kernel have no program.
      [ -e "$found/exe" ] || continue
      head -c ${MAX_PROCESS_BYTES} "$found/environ" 2>/dev/null | grep -qzxF -e "$1" && pids="$pids $found"
    done
    if [ "$3" = namespace ]; then
      for found in $(find -L [0-9]*/ns/uts -samefile "$$/ns/uts" 2>/dev/null); do
        # The runtime is in that namespace too. It ends by itself, and hands the exit code on.
        [ "\${found%%/*}/ns/pid" -ef "$$/ns/pid" ] || pids="$pids \${found%%/*}"
      done
    fi
  fi
  [ -n "$pids" ] || break
  kill -s KILL $pids 2>/dev/null
  tries=$((tries + 1))
  sleep 0.02
done
[ -z "$2" ] || rmdir "$2" 2>/dev/null
`;

interface GuardedBy {
  /** An environment variable (`name=value`) of the processes to kill. The processes could remove it. */
  mark: string;
  /** The folder of the processes' cgroup. */
  cgroup: string | null;
  /** Arguments to put before a program so that it joins the network of a rootless container. */
  network: readonly string[];
}

/**
 * Starts a process that kills a program in a sandbox when `end` is called or this process dies. In a rootless container
 * without a cgroup, the guard finds the program's processes by a UTS namespace, because they could change their
 * environment.
 */
export async function tieGuard({ mark, cgroup, network }: GuardedBy) {
  const hasNamespace = cgroup === null && network.length > 0;
  const own = hasNamespace ? [...network, 'unshare', '--uts'] : [];
  const program = ['/bin/sh', '-c', GUARD, 'guard', mark, cgroup ?? '', hasNamespace ? 'namespace' : 'marks'];
  const { pid, end } = await startGuard([...own, ...program], hasNamespace);
  return { tie: hasNamespace ? ['nsenter', `--uts=/proc/${pid}/ns/uts`, '--'] : [], end };
}
