/** Parts of shell programs that run around a hosted command, with and without an OCI container. */

/** A log that no worker reads is emptied at this size, in blocks of 512 bytes: a worker frees what it has read long before. */
const MAX_UNREAD_BLOCKS = 1024 ** 3 / 512;

/**
 * Defines `group_lives`: true if a process of the group of `$child` lives. Signal 0 also finds zombies, which the first process of a host
 * may never collect.
 */
export const GROUP_LIVES = `group_lives() {
  [ -e /proc/self/stat ] || { kill -s 0 -- "-$child" 2>/dev/null; return; }
  for stat in /proc/[0-9]*/stat; do
    { read -r line <"$stat"; } 2>/dev/null || continue
    # The line has the name of a process, which no pattern of this shell may match against files.
    set -f
    set -- \${line##*) }
    set +f
    [ "$3" != "$child" ] || [ "$1" = Z ] || return 0
  done
  return 1
}`;

/** Waits for `$child`, and after TERM (`$term`) for its group. Leaves the exit code in `$code`. */
export const WAIT_FOR_CHILD = `while :; do
  wait "$child"
  code=$?
  kill -s 0 "$child" 2>/dev/null || break
done
if [ -n "$term" ]; then
  wait "$child" 2>/dev/null
  again=$?
  [ "$again" -eq 127 ] || code=$again
  while group_lives; do sleep 0.05; done
fi`;

/** Empties the file on descriptor 5 at `MAX_UNREAD_BLOCKS`. */
export const EMPTY_UNREAD = `used=$(stat -L -c %b /proc/self/fd/5) || exit
[ "$used" -lt ${MAX_UNREAD_BLOCKS} ] || : >/proc/self/fd/5`;

/** Writes to `$exit_file` how a command ended: from `$code` and from a file `$oom_file` with a line `oom_kill <count>`, or ''. */
export const RECORD_END = `how=$code
if [ "$code" -gt 128 ] && name=$(kill -l "$((code - 128))" 2>/dev/null); then how="signal SIG$name"; fi
if [ "$code" -ne 0 ] && [ -n "$oom_file" ]; then
  while read -r key value; do
    if [ "$key" = oom_kill ] && [ "$value" -gt 0 ]; then how=out-of-memory; fi
  done <"$oom_file"
fi
printf '%s\\n' "$how" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"`;
