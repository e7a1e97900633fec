import { once } from 'node:events';
import { spawnOwn } from './own-child.js';
import { MAX_PROCESS_BYTES } from './process-table.js';

/**
 * Waits until its standard input ends, which it does at the latest when the worker dies. Then it kills the processes of a control group
 * until none is left, or those with a variable and those of a container in its own UTS namespace. Arguments: the variable; the folder of the
 * group, or ''; `marks` or `namespace`.
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

export interface EntryGuard {
  /** Arguments before a program that put it, with all that it starts, under this guard. */
  tie: readonly string[];
  end(): Promise<void>;
}

interface GuardedBy {
  /** An entry of the environment of the processes. They can remove it. */
  mark: string;
  /** The folder of their control group. */
  cgroup: string | null;
  /** Arguments that enter a user namespace in which this user is root; empty if there is none. */
  network: readonly string[];
}

/**
 * Starts a process that ends an entry with all that it has started. It does so at `end`, or when this process dies. Without a control group,
 * a UTS namespace tells the processes: unlike their environment, they cannot change it.
 */
export async function tieGuard({ mark, cgroup, network }: GuardedBy): Promise<EntryGuard> {
  const hasNamespace = cgroup === null && network.length > 0;
  const own = hasNamespace ? [...network, 'unshare', '--uts'] : [];
  const program = ['/bin/sh', '-c', GUARD, 'guard', mark, cgroup ?? '', hasNamespace ? 'namespace' : 'marks'];
  const child = spawnOwn([...own, ...program], '', ['pipe', 'pipe', 'ignore']);
  const ended = once(child, 'exit');
  ended.catch(() => undefined);
  child.stdin?.on('error', () => undefined);
  if (hasNamespace && child.stdout !== null) await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    tie: hasNamespace ? ['nsenter', `--uts=/proc/${child.pid}/ns/uts`, '--'] : [],
    async end() {
      child.stdin?.end();
      await ended;
    },
  };
}
