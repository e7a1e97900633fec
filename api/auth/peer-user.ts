import { readFile } from 'node:fs/promises';
import { isIPv4, type Socket } from 'node:net';
import { endianness } from 'node:os';
import ipaddr from 'ipaddr.js';

/**
 * Finds the Unix user of a local connection. The address does not distinguish a browser on the host from hosted
 * applications, but the user does.
 */

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** State of an established connection. The kernel shows closed connections with user 0, so they must be ignored. */
const ESTABLISHED = '01';
const MAPPED = '0000000000000000FFFF0000';
/** A single read of the tables can miss a line if other lines change meanwhile. */
const TRIES = 3;

const found = new WeakMap<Socket, Promise<number | null>>();

/** Returns the Unix user who opened the connection; null if unknown (not Linux, or another host). */
export function peerUser(socket: Socket): Promise<number | null> {
  const known = found.get(socket);
  if (known) return known;
  const user = findUser(socket);
  found.set(socket, user);
  return user;
}

async function findUser(socket: Socket): Promise<number | null> {
  const patterns = patternsOf(socket);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const text = await readTables();
    if (text === '') return null;
    for (const pattern of patterns) {
      const at = text.indexOf(pattern);
      if (at >= 0) return userOf(text.slice(at, text.indexOf('\n', at)));
    }
  }
  return null;
}

/**
 * Returns the possible beginnings of the connection's line in the tables: the peer's address and port, then our own. A
 * dual-stack socket shows IPv4 addresses as IPv4-mapped IPv6.
 */
function patternsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string[] {
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return [];
  const [remote, local] = [plain(remoteAddress), plain(localAddress)];
  const row = (hex: (address: string) => string) =>
    `${hex(remote)}:${port(remotePort)} ${hex(local)}:${port(localPort)} ${ESTABLISHED} `;
  if (!isIPv4(remote) || !isIPv4(local)) return [row(hexOfIPv6)];
  return [row(hexOfIPv4), row((address) => MAPPED + hexOfIPv4(address))];
}

/** The columns are: both addresses, state, queues, timer, retransmissions, user id. */
function userOf(row: string): number | null {
  const user = Number(row.split(/ +/)[6]);
  return Number.isInteger(user) ? user : null;
}

function plain(address: string): string {
  const bare = address.replace(/%.*$/, '');
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? [];
  return mapped ?? bare;
}

function port(number: number): string {
  return number.toString(16).toUpperCase().padStart(4, '0');
}

/** Formats an IPv4 address like the kernel: 32 bits in the machine's byte order, in hexadecimal. */
function hexOfIPv4(address: string): string {
  return word(address.split('.').map(Number));
}

function hexOfIPv6(address: string): string {
  const bytes = ipaddr.parse(address).toByteArray();
  return [0, 4, 8, 12].map((at) => word(bytes.slice(at, at + 4))).join('');
}

function word(bytes: number[]): string {
  const ordered = endianness() === 'LE' ? [...bytes].reverse() : bytes;
  return Buffer.from(ordered).toString('hex').toUpperCase();
}

let current: Promise<string> | null = null;
let next: Promise<string> | null = null;

/** A read in progress may miss new connections, so look-ups that begin during it share the next read. */
function readTables(): Promise<string> {
  if (!current) {
    current = readNow().finally(() => {
      current = null;
    });
    return current;
  }
  next ??= current.then(() => {
    next = null;
    return readTables();
  });
  return next;
}

async function readNow(): Promise<string> {
  const tables = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  return tables.join('\n');
}
