import { join } from 'node:path';
import { exists } from '../../shared/core/exists.js';
import type { CgroupRoots } from './cgroup.js';
import { startGuard } from './own-child.js';
import type { PausedSandbox } from './sandbox.js';

/**
 * Pauses a cgroup, or all processes with a certain variable and their descendants, and prints a line. Waits until its
 * standard input is closed, which happens at the latest when the worker dies. Then resumes them. Arguments: the
 * variable; the cgroup's control file, or ''; the words to write to it to pause and to resume; the file with the
 * cgroup's state, and the line in it that means paused.
 */
const GUARD = `
trap '' HUP INT TERM
cd /proc
pids() {
  {
    grep -lszxF -e "$1" [0-9]*/environ | sed 's|/.*| marked|'
    grep -s '^PPid:' [0-9]*/status | sed 's|/status:PPid:| |'
  } | awk '$2 == "marked" { found[$1] = 1; next } { parent[$1] = $2 }
    END {
      do {
        before = count
        for (pid in parent) if (!(pid in found) && parent[pid] in found) { found[pid] = 1; count++ }
      } while (count != before)
      for (pid in found) print pid
    }' | sort -n
}
tries=0
if [ -n "$2" ]; then
  echo "$3" > "$2"
  # A process that forks meanwhile can keep a freezer of version 1 in its state FREEZING, so freeze anew.
  while [ "$tries" -lt 500 ] && ! grep -qx "$6" "$5"; do
    tries=$((tries + 1))
    [ $((tries % 10)) -ne 0 ] || echo "$4" > "$2"
    echo "$3" > "$2"
    sleep 0.02
  done
else
  seen=
  while [ "$tries" -lt 50 ]; do
    now=$(pids "$1")
    [ "$now" != "$seen" ] || break
    kill -s STOP $now 2>/dev/null
    seen=$now tries=$((tries + 1))
  done
fi
if [ -n "$2" ]; then grep -qx "$6" "$5"; else [ "$tries" -lt 50 ]; fi && echo paused && read -r _
if [ -n "$2" ]; then echo "$4" > "$2"; else kill -s CONT $(pids "$1") 2>/dev/null; fi
`;

/**
 * Pauses all processes of a sandbox. `mark` is the environment entry that each of them has. Throws if a process still
 * runs after 10 s.
 */
export async function pauseSandbox(cgroups: CgroupRoots | null, id: string, mark: string): Promise<PausedSandbox> {
  const group = cgroups === null ? null : await freezerOf(cgroups, id);
  const words = group === null ? [''] : [group.file, group.pause, group.resume, group.state, group.line];
  const { end, isReady } = await startGuard(['/bin/sh', '-c', GUARD, 'guard', mark, ...words], true);
  if (!isReady) throw new Error('some of its processes could not be paused; try again');
  return { resume: end };
}

interface Freezer {
  file: string;
  pause: string;
  resume: string;
  state: string;
  line: string;
}

async function freezerOf({ version, memory, all }: CgroupRoots, id: string): Promise<Freezer | null> {
  if (version === 2) {
    const folder = join(memory, id);
    const file = join(folder, 'cgroup.freeze');
    const freezer = { file, pause: '1', resume: '0', state: join(folder, 'cgroup.events'), line: 'frozen 1' };
    return (await exists(file)) ? freezer : null;
  }
  for (const root of all) {
    const file = join(root, id, 'freezer.state');
    if (await exists(file)) return { file, pause: 'FROZEN', resume: 'THAWED', state: file, line: 'FROZEN' };
  }
  return null;
}
