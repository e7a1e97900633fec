import { once } from 'node:events';
import { spawnOwn } from './own-child.js';

/**
 * Waits until its standard input ends, which it does at the latest when the worker dies. Then it kills the processes of a control group
 * until none is left, or those with a variable. Arguments: the variable; the folder of the group, or ''.
 */
const GUARD = `
trap '' HUP INT TERM
cd /proc
read -r _
tries=0
while [ "$tries" -lt 200 ]; do
  if [ -n "$2" ]; then
    pids=$(cat "$2/cgroup.procs" 2>/dev/null)
  else
    pids=$(grep -lszxF -e "$1" [0-9]*/environ | cut -d / -f 1)
  fi
  [ -n "$pids" ] || break
  kill -s KILL $pids 2>/dev/null
  tries=$((tries + 1))
  sleep 0.02
done
[ -z "$2" ] || rmdir "$2" 2>/dev/null
`;

/** Starts a process that ends an entry with all that it has started. It does so at `end`, or when this process dies. */
export function tieGuard(mark: string, cgroup: string | null): { end(): Promise<void> } {
  const child = spawnOwn(['/bin/sh', '-c', GUARD, 'guard', mark, cgroup ?? ''], '', ['pipe', 'ignore', 'ignore']);
  const ended = once(child, 'exit');
  ended.catch(() => undefined);
  child.stdin?.on('error', () => undefined);
  return {
    async end() {
      child.stdin?.end();
      await ended;
    },
  };
}
