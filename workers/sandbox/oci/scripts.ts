import { EMPTY_UNREAD, GROUP_LIVES, RECORD_END, WAIT_FOR_CHILD } from '../shell-parts.js';

/** The shell programs around a hosted command. They are files, so `ps` shows only their paths. */

/**
 * Process 1 of a container: starts the command in a session of its own, passes TERM on to its process group and waits for it. The
 * end of this process ends everything in the container.
 * Arguments: `tied` or `free`, the working folder, the command's argument vector.
 * If it is `tied`, descriptor 3 leads to the worker: it gets a line when the command starts, and its end means that the worker died.
 * If it is `free`, standard output is a file that may grow while no worker reads it.
 */
export const INIT = `#!/bin/sh
kind=$1 folder=$2
shift 2
umask 022
cd -- "$folder" || exit 126
# The programs of this one are not looked for in the command's PATH.
path=$PATH
PATH=/usr/local/bin:/usr/bin:/bin
session=$(command -v setsid)
child= term=
${GROUP_LIVES}
forward() {
  term=1
  [ -z "$child" ] || kill -s TERM -- "-$child" 2>/dev/null || kill -s TERM "$child" 2>/dev/null
}
trap forward TERM
trap : INT HUP
[ "$kind" = free ] || echo ready >&3
(
  trap - TERM INT HUP
  exec 3>&-
  PATH=$path
  exec \${session:+"$session"} "$@"
) &
child=$!
# What the shell says about its child ("Killed") is no output of the command.
exec 2>/dev/null
if [ "$kind" = free ]; then
  (
    trap '' TERM INT HUP
    exec 5>&1 >/dev/null
    while sleep 5; do
    ${EMPTY_UNREAD}
    done
  ) &
else
  (
    trap '' TERM INT HUP
    exec >/dev/null
    read -r _ <&3
    kill -s KILL -- "-$child"
  ) &
  exec 3>&-
fi
[ -z "$term" ] || forward
${WAIT_FOR_CHILD}
exit "$code"
`;

/**
 * Runs on the host after a detached container has ended, also if no worker lives, and records how it ended.
 * Arguments: the file with the exit code, a file with a line \`oom_kill <count>\` or '', the file to write.
 */
export const RECORD = `#!/bin/sh
code=$(cat "$1") oom_file=$2 exit_file=$3
${RECORD_END}
`;

/**
 * Runs on the host, in a mount namespace of its own: mounts the root of a container with users of its own and becomes the program that
 * starts it.
 * Arguments: `overlay` and its options, or `bind` and a folder; where to mount it; the program's argument vector.
 */
export const ENTER = `#!/bin/sh
case $1 in
  overlay) mount -n -t overlay overlay -o "$2" "$3" || exit ;;
  *) mount -n --bind "$2" "$3" || exit ;;
esac
shift 3
exec "$@"
`;
