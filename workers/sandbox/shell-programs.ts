/** The shell programs are stored as files, so that `ps` shows only their paths. */

/** An unread log of this size, in blocks of 512 bytes, is emptied. A running worker frees blocks much earlier. */
const MAX_UNREAD_BLOCKS = 1024 ** 3 / 512;

/** Returns shell lines that describe in the variable `how` the end of the command with the exit code `code`. */
function tellEnd(prefix: string): string {
  const [code, how, name] = ['code', 'how', 'name'].map((word) => `${prefix}${word}`);
  return `${how}=$${code}
if [ "$${code}" -gt 128 ] && ${name}=$(kill -l "$((${code} - 128))" 2>/dev/null); then ${how}="signal SIG$${name}"; fi`;
}

/** Sets the variables listed in RANVIER_NAMES to their values, which are in RANVIER_ENV_<name>. */
const GIVE_VARIABLES =
  'for _name in $_names; do eval "export $_name=\\"\\$RANVIER_ENV_$_name\\"; unset RANVIER_ENV_$_name"; done';

/**
 * The init: process 1 of a container, or the first process of a command without one. It starts the command in a session
 * of its own, forwards SIGTERM to its process group and waits for it. When process 1 exits, the kernel kills everything
 * in the container. Arguments: a mode, the working folder, `here` or `deferred`, and the command's argument vector.
 * - `tied`: descriptor 3 is connected to the worker. It receives a line when the command starts, and if it is closed,
 *   the worker has died.
 * - `free`: standard output is a file, which the init empties if it grows too large while no worker reads it.
 * - `alone`: as `free`, but without a container. How the command ended is written to descriptor 4.
 * `here`: the command's environment variables are set already. `deferred`, which workers of an older release pass: the
 * init sets them. Names of the script's own variables begin with `_`, because the command inherits all others.
 */
export const INIT = `#!/bin/sh
_kind=$1 _folder=$2 _deferred=$3
shift 3
umask 022
_names=
[ "$_deferred" = here ] || { _names=$RANVIER_NAMES; unset RANVIER_NAMES; }
${GIVE_VARIABLES}
cd -- "$_folder" || exit 126
# The programs of this one are not looked for in the command's PATH.
_path=$PATH
PATH=/usr/local/bin:/usr/bin:/bin
_session=$(command -v setsid)
_child= _term=
# True if a process of the group lives. Signal 0 also finds zombies, which the first process of a host may never collect.
group_lives() {
  [ -e /proc/self/stat ] || { [ -n "$_session" ] && kill -s 0 -- "-$_child" 2>/dev/null; return; }
  for _stat in /proc/[0-9]*/stat; do
    { read -r _line <"$_stat"; } 2>/dev/null || continue
    # The line has the name of a process, which no pattern of this shell may match against files.
    set -f
    set -- \${_line##*) }
    set +f
    [ "$3" != "$_child" ] || [ "$1" = Z ] || return 0
  done
  return 1
}
forward() {
  _term=1
  [ -z "$_child" ] || kill -s TERM -- "-$_child" 2>/dev/null || kill -s TERM "$_child" 2>/dev/null
}
trap forward TERM
trap : INT HUP
[ "$_kind" != tied ] || echo ready >&3
(
  trap - TERM INT HUP
  exec 3>&- 4>&-
  PATH=$_path
  exec \${_session:+"$_session"} "$@"
) &
_child=$!
# What the shell says about its child ("Killed") is no output of the command.
exec 2>/dev/null
(
  trap '' TERM INT HUP
  exec 4>&-
  if [ "$_kind" = tied ]; then
    exec >/dev/null
    read -r _ <&3
    kill -s KILL -- "-$_child" || kill -s KILL "$_child"
  else
    exec 3>&- 5>&1 >/dev/null
    # Until the first nap has begun, the last process in the background is the command.
    trap '[ "$!" = "$_child" ] || kill -s KILL "$!"; exit' USR1
    while sleep 5 & wait "$!"; do
      _used=$(stat -L -c %b /proc/self/fd/5) || exit
      [ "$_used" -lt ${MAX_UNREAD_BLOCKS} ] || : >/proc/self/fd/5
    done
  fi
) &
_guard=$!
exec 3>&-
[ -z "$_term" ] || forward
while :; do
  wait "$_child"
  _code=$?
  kill -s 0 "$_child" 2>/dev/null || break
done
if [ -n "$_term" ]; then
  wait "$_child" 2>/dev/null
  _again=$?
  [ "$_again" -eq 127 ] || _code=$_again
  while group_lives; do sleep 0.05; done
fi
if [ "$_kind" = alone ]; then
  ${tellEnd('_')}
  printf '%s\\n' "$_how" >&4
fi
# The end of process 1 would end it too; without a container nothing of it may be left.
if [ "$_kind" = tied ]; then kill -s KILL "$_guard"; else kill -s USR1 "$_guard"; fi
wait "$_guard"
exit "$_code"
`;

/** Runs in a rootless container after the programs that drop privileges. Arguments: the command's argument vector. */
export const VARIABLES = `#!/bin/sh
_names=$RANVIER_NAMES
unset RANVIER_NAMES
${GIVE_VARIABLES}
unset _names _name
exec "$@"
`;

/**
 * Runs after a detached container has ended, even if no worker is running. Arguments: the file with the exit code; a
 * file with the line `oom_kill <count>`, or ''; the file to write.
 */
export const RECORD = `#!/bin/sh
code=$(cat "$1") oom_file=$2 exit_file=$3
${tellEnd('')}
if [ "$code" -ne 0 ] && [ -n "$oom_file" ]; then
  while read -r key value; do
    if [ "$key" = oom_kill ] && [ "$value" -gt 0 ]; then how=out-of-memory; fi
  done <"$oom_file"
fi
printf '%s\\n' "$how" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"
`;

/**
 * Runs in its own mount namespace, and mounts the root of a container with its own users. Arguments: `overlay` and its
 * options, or `bind` and a folder; where to mount it; the argument vector of the program that starts the container.
 */
export const ENTER = `#!/bin/sh
case $1 in
  overlay) mount -n -t overlay overlay -o "$2" "$3" || exit ;;
  *) mount -n --bind "$2" "$3" || exit ;;
esac
shift 3
exec "$@"
`;

/** Debian only has `python3`, and most Procfiles use `python`. */
export const PYTHON = '#!/bin/sh\nexec python3 "$@"\n';
