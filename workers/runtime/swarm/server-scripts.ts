import { ADMIN_USER, postgresSettings } from '../../../shared/data/model.js';
import type { DataKind } from '../../../shared/services/model.js';
import { quote } from '../../core/quote.js';

/** Path in the containers of database servers, and of tasks that work on the servers' files. */
export const VOLUME = '/volume';
/** Exit code of a database server that refuses to start. */
export const REFUSED_CODE = 78;
/** The server begins the reason for its refusal with this text. */
export const REFUSED = 'ranvier: the server is not started: ';
/** This file allows a database server to initialize its data. Only `volumeScript` creates it, once per service. */
const FRESH = 'fresh';
const LOCK_SECONDS = 60;

/** PostgreSQL's official image defines its user. Redis does not need a user with a name. */
export const SERVER_USER: Readonly<Record<DataKind, string>> = { postgres: 'postgres', redis: '999:999' };

/** Returns the content of the marker that names a volume's service. */
export function markerOf(serviceId: string): string {
  return JSON.stringify({ service: serviceId });
}

/**
 * Returns the script that prepares a new volume, as root. The server initializes its data itself, so that its user owns
 * the files.
 */
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

/**
 * Returns the script that empties a volume, as root. If `locked` is true, the script first waits for a database
 * server's last process to exit. It does not use `find -delete`, which some versions of busybox lack.
 */
export function emptyScript({ locked }: { locked: boolean }): string {
  const lock = locked ? `exec 9<. && flock -w ${LOCK_SECONDS} 9 && ` : '';
  return `cd ${VOLUME} && ${lock}rm -rf ./* ./.[!.]* ./..?* && sync`;
}

/**
 * The kernel holds the volume's lock until the server's last process has exited, even if the swarm starts the next task
 * earlier.
 */
function lockVolume(serviceId: string): string[] {
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

/**
 * Returns the script that runs PostgreSQL. It must be stopped with SIGINT, on which PostgreSQL shuts down without
 * waiting for its clients.
 */
export function postgresScript(serviceId: string, { planId, version }: { planId: string; version: string }): string {
  const settings = { ...postgresSettings(planId), port: '5432', listen_addresses: '*' };
  const options = Object.entries(settings).map(([name, value]) => `-c ${quote(`${name}=${value}`)}`);
  const init = `initdb -D $V/data.new -U ${ADMIN_USER} --auth=scram-sha-256 --pwfile=$V/password --encoding=UTF8 --data-checksums`;
  return [
    ...lockVolume(serviceId),
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
    // The server that wrote the pid file has exited, because this script holds the volume's lock.
    'rm -f $D/postmaster.pid',
    `exec postgres -D $D ${options.join(' ')}`,
  ].join('\n');
}

/** Returns the script that runs redis or valkey, whichever the image has. */
export function redisScript(serviceId: string): string {
  return [
    ...lockVolume(serviceId),
    `if [ -e $V/${FRESH} ]; then rm -rf $D; mkdir -m 700 $D && rm -f $V/${FRESH} && sync; fi`,
    `[ -d $D ] || ${NO_DATA}`,
    `(umask 077; printf '%s' "$CONFIGURATION" >$V/redis.conf)`,
    'unset CONFIGURATION',
    'program=$(command -v redis-server || command -v valkey-server) || refuse "its image has neither redis-server nor valkey-server"',
    'exec "$program" $V/redis.conf',
  ].join('\n');
}
