import { ADMIN_USER, postgresSettings } from '../../../shared/data/model.js';
import type { DataKind } from '../../../shared/services/model.js';
import { quote } from '../../core/quote.js';

/** Where a server, and what works on its files, find the volume. */
export const VOLUME = '/volume';
/** A server that must not start ends with this code, after it has said why. */
export const REFUSED_CODE = 78;
/** What stands before the reason. */
export const REFUSED = 'ranvier: the server is not started: ';
/** The file that lets a server make its first data. Only `volumeScript` makes it, once in a service's life. */
const FRESH = 'fresh';
/** How long a server waits until an earlier one on the same volume has ended, in seconds. */
const LOCK_SECONDS = 60;

/** The user that servers run as. The official image of PostgreSQL has it; redis needs no name. */
export const SERVER_USER: Readonly<Record<DataKind, string>> = { postgres: 'postgres', redis: '999:999' };

/** The content of the marker that names a volume's service. */
export function markerOf(serviceId: string): string {
  return JSON.stringify({ service: serviceId });
}

/** Prepares a volume that never had any data; runs as root. The server makes its data itself, so that it belongs to its user. */
export function volumeScript(kind: DataKind, serviceId: string): string {
  return [
    'set -e',
    `cd ${VOLUME}`,
    `printf '%s\\n' ${quote(markerOf(serviceId))} >ranvier.json`,
    `: >${FRESH}`,
    'chmod 700 .',
    `chown ${SERVER_USER[kind]} . ranvier.json ${FRESH}`,
    'sync',
  ].join('\n');
}

/** Removes everything from a volume (not every busybox has `find -delete`), once the last process of its server has ended; runs as root. */
export function emptyScript(): string {
  return `cd ${VOLUME} && exec 9<. && flock -w ${LOCK_SECONDS} 9 && rm -rf ./* ./.[!.]* ./..?* && sync`;
}

/**
 * What every server does first: it refuses a volume that is not its own, and takes its lock, which the kernel holds until the last
 * process of the server has ended, also if the swarm starts another task before that.
 */
function beginning(serviceId: string): string[] {
  return [
    `V=${VOLUME}; D=$V/data`,
    `refuse() { printf '%s\\n' ${quote(REFUSED)}"$1" >&2; exit ${REFUSED_CODE}; }`,
    `[ -f $V/ranvier.json ] || refuse 'its volume has no marker; was the volume removed, or is the disk not mounted?'`,
    `[ "$(cat $V/ranvier.json)" = ${quote(markerOf(serviceId))} ] || refuse 'its volume belongs to another service'`,
    `command -v flock >/dev/null || refuse 'its image has no flock'`,
    'exec 9<$V',
    `n=0; until flock -n 9; do n=$((n+1)); [ $n -lt ${LOCK_SECONDS} ] || refuse 'another server still uses its volume'; sleep 1; done`,
  ];
}

const NO_DATA = `refuse 'its volume has no data; restore a backup'`;
const HBA = 'host all all all scram-sha-256';

/** Runs PostgreSQL. INT is a fast shutdown. `$ADMIN_PASSWORD` is that of the platform's superuser. */
export function postgresScript(serviceId: string, { planId, version }: { planId: string; version: string }): string {
  const settings = { ...postgresSettings(planId), port: '5432', listen_addresses: '*' };
  const options = Object.entries(settings).map(([name, value]) => `-c ${quote(`${name}=${value}`)}`);
  const init = `initdb -D $V/data.new -U ${ADMIN_USER} --auth=scram-sha-256 --pwfile=$V/password --encoding=UTF8 --data-checksums`;
  return [
    ...beginning(serviceId),
    `if [ -e $V/${FRESH} ]; then`,
    '  rm -rf $D $V/data.new',
    `  (umask 077; printf '%s\\n' "$ADMIN_PASSWORD" >$V/password)`,
    `  ${init} --locale=C.UTF-8 >/dev/null 2>&1 || { rm -rf $V/data.new; ${init} --locale=C; } || exit 1`,
    '  rm -f $V/password',
    `  mv $V/data.new $D && sync && rm -f $V/${FRESH} && sync`,
    'fi',
    'unset ADMIN_PASSWORD',
    `[ -f $D/PG_VERSION ] || ${NO_DATA}`,
    `[ "$(cat $D/PG_VERSION)" = ${version} ] || refuse "its data was written by version $(cat $D/PG_VERSION), and the service is of version ${version}"`,
    `printf '%s\\n' ${quote(HBA)} >$D/pg_hba.conf`,
    // The lock proves that the server which wrote it has ended.
    'rm -f $D/postmaster.pid',
    `exec postgres -D $D ${options.join(' ')}`,
  ].join('\n');
}

/** Runs redis or valkey, whichever the image has, with the configuration in `$CONFIGURATION`. */
export function redisScript(serviceId: string): string {
  return [
    ...beginning(serviceId),
    `if [ -e $V/${FRESH} ]; then rm -rf $D; mkdir -m 700 $D && rm -f $V/${FRESH} && sync; fi`,
    `[ -d $D ] || ${NO_DATA}`,
    `(umask 077; printf '%s' "$CONFIGURATION" >$V/redis.conf)`,
    'unset CONFIGURATION',
    'program=$(command -v redis-server || command -v valkey-server) || refuse "its image has neither redis-server nor valkey-server"',
    'exec "$program" $V/redis.conf',
  ].join('\n');
}
