import { ADMIN_USER, postgresSettings } from '../../shared/data/model.js';
import { quote } from '../core/quote.js';

const LOCK_SECONDS = 30;

/**
 * Returns a shell command that runs `script` while it holds a lock on the folder `$DATA`. The kernel holds the lock
 * until the server's last process has exited. PostgreSQL's own check of process ids does not suffice, because it sees
 * no processes in other namespaces. If the host has no program `flock`, the command runs `unlocked` and then `script`,
 * without a lock.
 */
function locked(script: string, unlocked = ':'): string {
  const inner = quote(script);
  return `if command -v flock >/dev/null 2>&1; then exec flock -F -w ${LOCK_SECONDS} -- "$DATA" /bin/sh -c ${inner}; fi; ${unlocked}; exec /bin/sh -c ${inner}`;
}

/** A script that exits if the server that wrote `postmaster.pid` runs: a server's command line contains its folder. */
const REFUSE_SECOND =
  'if { read -r pid <"$DATA/postmaster.pid"; } 2>/dev/null; then case "$(ps -p "$pid" -o args= 2>/dev/null)" in *"$DATA"*) echo "another server uses this data" >&2; exit 1; esac; fi';

/** Returns a command that creates a cluster in `$DATA`. Hosts without the locale C.UTF-8 use C. */
export function initdbCommand(): string {
  const options = `-U ${ADMIN_USER} --auth=scram-sha-256 --pwfile="$TMPDIR/password" --encoding=UTF8 --data-checksums`;
  return [
    'umask 077',
    'printf \'%s\\n\' "$ADMIN_PASSWORD" >"$TMPDIR/password"',
    'unset ADMIN_PASSWORD',
    `initdb -D "$DATA" ${options} --locale=C.UTF-8 >"$TMPDIR/initdb" 2>&1 && exit 0`,
    'rm -rf "$DATA"/*',
    `exec initdb -D "$DATA" ${options} --locale=C`,
  ].join('; ');
}

/** Every client with a password may connect. Network rules decide who can reach the server. */
const HBA = 'host all all all scram-sha-256';

/**
 * Returns a command that runs PostgreSQL on `$DATA`. On SIGTERM, PostgreSQL ends all sessions and exits. An old
 * `postmaster.pid` is removed: this command holds the lock or has checked, so the server that wrote it has exited.
 */
export function postgresCommand({ planId, port, listen }: { planId: string; port: number; listen: string }): string {
  const settings = { ...postgresSettings(planId), port: String(port), listen_addresses: listen };
  const options = Object.entries(settings).map(([name, value]) => `-c ${quote(`${name}=${value}`)}`);
  return locked(
    [
      `printf '%s\\n' ${quote(HBA)} >"$DATA/pg_hba.conf"`,
      'rm -f "$DATA/postmaster.pid"',
      `postgres -D "$DATA" ${options.join(' ')} & server=$!`,
      'trap "kill -INT $server" TERM INT',
      'while :; do wait $server; code=$?; kill -0 $server 2>/dev/null || break; done',
      'exit $code',
    ].join('\n'),
    REFUSE_SECOND,
  );
}

/** Returns a command that runs redis or valkey with `$CONFIGURATION`. On SIGTERM it writes its data and exits. */
export function redisCommand(binary: string): string {
  return locked(
    [
      'printf \'%s\' "$CONFIGURATION" >"$TMPDIR/redis.conf"',
      'unset CONFIGURATION',
      `exec ${quote(binary)} "$TMPDIR/redis.conf"`,
    ].join('\n'),
  );
}
