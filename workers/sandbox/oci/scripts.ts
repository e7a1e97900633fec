/** The shell programs around a hosted command. They are files, so `ps` shows only their paths. */

/** A log that no worker reads is emptied at this size, in blocks of 512 bytes: a worker frees what it has read long before. */
const MAX_UNREAD_BLOCKS = 1024 ** 3 / 512;

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
# Signal 0 also finds zombies.
group_lives() {
  for stat in /proc/[0-9]*/stat; do
    { read -r line <"$stat"; } 2>/dev/null || continue
    # The line has the name of a process, which no pattern of this shell may match against files.
    set -f
    set -- \${line##*) }
    set +f
    [ "$3" != "$child" ] || [ "$1" = Z ] || return 0
  done
  return 1
}
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
      used=$(stat -L -c %b /proc/self/fd/5) || exit
      [ "$used" -lt ${MAX_UNREAD_BLOCKS} ] || : >/proc/self/fd/5
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
while :; do
  wait "$child"
  code=$?
  kill -s 0 "$child" || break
done
if [ -n "$term" ]; then
  wait "$child"
  again=$?
  [ "$again" -eq 127 ] || code=$again
  while group_lives; do sleep 0.05; done
fi
exit "$code"
`;

/**
 * Runs on the host after a detached container has ended, also if no worker lives, and records how it ended.
 * Arguments: the file with the exit code, a file with a line \`oom_kill <count>\` or '', the file to write.
 */
export const RECORD = `#!/bin/sh
code=$(cat "$1")
how=$code
if [ "$code" -gt 128 ] && name=$(kill -l "$((code - 128))" 2>/dev/null); then how="signal SIG$name"; fi
if [ "$code" -ne 0 ] && [ -n "$2" ]; then
  while read -r key value; do
    if [ "$key" = oom_kill ] && [ "$value" -gt 0 ]; then how=out-of-memory; fi
  done <"$2"
fi
printf '%s\\n' "$how" >"$3.new" && mv "$3.new" "$3"
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
