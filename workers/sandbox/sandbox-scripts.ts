import { EMPTY_UNREAD, GROUP_LIVES, RECORD_END, WAIT_FOR_CHILD } from './shell-parts.js';

/**
 * The shell programs inside a sandbox. They are constant text, and every value is an argument. The command and its
 * environment, which has secrets, go only to the unprivileged loader, through descriptor 3.
 */

/** Exit code of a sandbox that could not be made. */
export const SETUP_FAILED = 125;

/** The devices of a sandbox, beside its terminals. */
export const DEVICES = ['full', 'null', 'random', 'tty', 'urandom', 'zero'];

/** Links below a sandbox's `/dev`. */
export const DEVICE_LINKS = { fd: '', stdin: '/0', stdout: '/1', stderr: '/2' };

/** Dependencies are read only. To change the owner of their thousands of files would delay every start. */
export const NOT_OWNED = ['node_modules', '.venv', 'venv', 'vendor', '.git'];

/** Options of the mount that has the pseudo-terminals of a sandbox. */
export const TERMINALS = 'newinstance,ptmxmode=0666,mode=0620,max=64';

/**
 * Makes the mounts, joins the control groups, starts the command in a session of its own and waits for its end. In a
 * namespace it is pid 1, so its end ends everything in the namespace.
 * Arguments: `setsid` or `same`, mount operations, `--`, cgroup.procs files, `--`, the command's argument vector.
 * It forwards TERM to the command's process group, which then has until KILL to finish.
 * If descriptor 4 is open, its end means that the worker died, and the group is killed.
 */
export const INIT = `
session=$1; shift
must() { "$@" || exit ${SETUP_FAILED}; }
while [ "$1" != -- ]; do
  case "$1" in
    stage) must mount -n -t tmpfs -o mode=0755,size=4m tmpfs "$2"; shift 2 ;;
    overlay)
      mkdir -p "$2/lower" "$2/changes" "$5" && must mount -n --bind "$3" "$2/lower" && must mount -n --bind "$4" "$2/changes" &&
        mkdir -p "$2/changes/upper" "$2/changes/work"
      # The changes end with the sandbox. Without "volatile" its end would write out all that the whole disk has to write.
      layers="lowerdir=$2/lower,upperdir=$2/changes/upper,workdir=$2/changes/work"
      mount -n -t overlay overlay -o "metacopy=on,volatile,$layers" "$5" ||
        mount -n -t overlay overlay -o "volatile,$layers" "$5" || must mount -n -t overlay overlay -o "$layers" "$5"
      must umount -n "$2/lower"; must umount -n "$2/changes"; must rmdir "$2/lower" "$2/changes"; shift 5 ;;
    own)
      must find "$3" -xdev -exec chown -h "$2" {} + \\
        '(' ${NOT_OWNED.map((name) => `-name ${name}`).join(' -o ')} ')' -prune
      shift 3 ;;
    bind) must mkdir -p "$3"; must mount -n --bind "$2" "$3"; shift 3 ;;
    # In a user namespace the mount keeps the flags that its file system has on the host.
    readonly)
      must mkdir -p "$3"; must mount -n --bind "$2" "$3"; must mount -n -o remount,bind,ro,nosuid,nodev "$3"; shift 3 ;;
    tree) must mount -n --rbind "$2" "$3"; shift 3 ;;
    file) must mount -n --bind "$2" "$3"; shift 3 ;;
    hide) must mount -n -t tmpfs -o mode=0755,size=64k tmpfs "$2"; shift 2 ;;
    resolver)
      resolver=$(readlink -f /etc/resolv.conf) && cat "$resolver" >"$2/resolv.conf" 2>/dev/null; shift 2 ;;
    restore-resolver)
      if [ -n "$resolver" ] && [ ! -e "$resolver" ]; then mkdir -p "\${resolver%/*}" && cp "$2/resolv.conf" "$resolver"; fi
      shift 2 ;;
    # The copies of other namespaces' mounts would keep those namespaces after their end.
    names)
      umount -n -l /run/netns 2>/dev/null
      [ ! -e /etc/hosts ] || must mount -n --bind "$2" /etc/hosts
      if [ -n "$3" ] && [ -n "$resolver" ]; then
        case "$resolver" in
          /run/*) must cp "$3" "$4/resolv.conf" ;;
          *) [ ! -e "$resolver" ] || must mount -n --bind "$3" "$resolver" ;;
        esac
      fi
      shift 4 ;;
    # The mount moves, so that nothing of it stays on the stage.
    devices)
      must mkdir "$2/dev"; must mount -n -t tmpfs -o mode=0755,size=64k,nosuid,noexec tmpfs "$2/dev"
      for name in ${DEVICES.join(' ')}; do
        [ ! -e "/dev/$name" ] || { : >"$2/dev/$name" && must mount -n --bind "/dev/$name" "$2/dev/$name"; }
      done
      ${Object.entries(DEVICE_LINKS)
        .map(([name, target]) => `ln -s /proc/self/fd${target} "$2/dev/${name}"`)
        .join('; ')}
      must mkdir "$2/dev/pts" "$2/dev/shm"; : >"$2/dev/ptmx"
      must mount -n --move "$2/dev" /dev; must rmdir "$2/dev"; shift 2 ;;
    shm) must mount -n -t tmpfs -o "$2" tmpfs /dev/shm; shift 2 ;;
    mask)
      if [ -d "$2" ]; then must mount -n -t tmpfs -o mode=0755,size=64k tmpfs "$2"
      elif [ -e "$2" ]; then must mount -n --bind /dev/null "$2"; fi
      shift 2 ;;
    # Terminals of its own, and few: those of the host are numbered for all. Not every kernel allows it.
    terminals)
      mount -n -t devpts -o ${TERMINALS} devpts /dev/pts 2>/dev/null && must mount -n --bind /dev/pts/ptmx /dev/ptmx; shift ;;
    proc) must mount -n -t proc proc /proc; shift ;;
    *) echo "sandbox: unknown operation $1" >&2; exit ${SETUP_FAILED} ;;
  esac
done
shift
child=
term=
${GROUP_LIVES}
forward() {
  term=1
  [ "$session" = setsid ] && [ -n "$child" ] || return 0
  kill -s TERM -- "-$child" 2>/dev/null || kill -s TERM "$child" 2>/dev/null
}
trap forward TERM
trap : INT HUP
(
  trap - TERM INT HUP
  while [ "$1" != -- ]; do echo 0 >"$1" || exit ${SETUP_FAILED}; shift; done
  shift
  echo ready >&3
  exec 4<&-
  exec "$@"
) &
child=$!
# What the shell says about its child ("Killed") is no output of the command.
exec 3>&- 2>/dev/null
guard=
if { true <&4; } 2>/dev/null; then
  (
    trap '' TERM INT HUP
    read -r _ <&4
    if [ "$session" = setsid ]; then kill -s KILL -- "-$child"; else kill -s KILL 0; fi
  ) 2>/dev/null >/dev/null &
  guard=$!
fi
[ -z "$term" ] || forward
${WAIT_FOR_CHILD}
# It is waited for, because nothing of the sandbox may be left after its init.
[ -z "$guard" ] || { kill -s KILL "$guard"; wait "$guard"; } 2>/dev/null
exit "$code"
`;

/** Runs as the unprivileged user: reads the command's program (`commandScript`) from descriptor 3 and executes it. */
export const LOADER = `program=$(cat <&3); exec 3<&-; eval "$program"; exit ${SETUP_FAILED}`;

/**
 * Stays outside the sandbox of a detached command and records how it ended, also while no worker lives. Every five seconds
 * it checks how much disk the output file uses, and empties it at 1 GiB. A worker frees what it has read long before, so
 * this much means that no worker reads.
 * Arguments: the exit file, a file with a line `oom_kill <count>` or '', the argument vector.
 */
export const RECORDER = `
exit_file=$1; oom_file=$2; shift 2
trap : TERM INT HUP
exec 4>&2 2>/dev/null
(
  exec 3>&- 4>&- 5>&1
  nap=
  trap 'kill "$nap"; exit' TERM
  while sleep 5 & nap=$!; wait "$nap"; do
    ${EMPTY_UNREAD}
  done
) &
guard=$!
"$@" 2>&4 4>&-
code=$?
kill "$guard"
${RECORD_END}
`;

/** The program of one command for the loader: its folder, its environment, and the command in place of the shell. */
export function commandScript(cwd: string, env: Readonly<Record<string, string>>, command: string): string {
  const lines = ['umask 022', `cd -- ${quote(cwd)} || exit 126`];
  for (const [name, value] of Object.entries(env)) {
    assertVariable(name, value);
    lines.push(`export ${name}=${quote(value)}`);
  }
  lines.push(`exec /bin/sh -c ${quote(command)}`);
  return `${lines.join('\n')}\n`;
}

/** Throws if a variable has a name or a value that cannot be passed to a program. */
export function assertVariable(name: string, value: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a name that a variable can have`);
  if (value.includes('\0')) throw new Error(`The variable ${name} contains a NUL character`);
}

/** One word of a shell's command line. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
