import { readdir, readFile, readlink } from 'node:fs/promises';
import { processStart } from '../../shared/core/process-identity.js';

/** The variable that marks every process of a sandbox. */
export const MARKER = 'RANVIER_SANDBOX';

/** Returns the processes of this host whose marker begins with the prefix: pid → marker. Empty without /proc. */
export async function markedProcesses(prefix: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const entry = Buffer.from(`${MARKER}=${prefix}`);
  for (const name of await listQuietly('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environ = await readQuietly(`/proc/${name}/environ`, 'latin1');
    if (!environ?.includes(entry.toString('latin1'))) continue;
    const value = environ.split('\0').find((line) => line.startsWith(`${MARKER}=${prefix}`));
    if (value !== undefined && (await processStart(Number(name))) !== null) {
      found.set(Number(name), value.slice(MARKER.length + 1));
    }
  }
  return found;
}

/** Returns the users of all processes of this host, from their status. A process can hide the owner of its folder. */
export async function usersOfProcesses(): Promise<Set<number>> {
  const found = new Set<number>();
  for (const name of await listQuietly('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [, users = ''] = /^Uid:\s(.*)$/m.exec((await readQuietly(`/proc/${name}/status`, 'latin1')) ?? '') ?? [];
    for (const uid of users.split('\t')) if (uid !== '') found.add(Number(uid));
  }
  return found;
}

/** Returns the inodes of the sockets that these processes hold. */
export async function socketsOf(pids: Iterable<number>): Promise<Set<string>> {
  const sockets = new Set<string>();
  for (const pid of pids) {
    for (const fd of await listQuietly(`/proc/${pid}/fd`)) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
  }
  return sockets;
}

/** Returns the TCP ports on which these processes listen, ascending; null without /proc. */
export async function listeningPortsOf(pids: Iterable<number>): Promise<number[] | null> {
  const listeners = await allListeners();
  if (listeners === null) return null;
  const sockets = await socketsOf(pids);
  const ports = new Set(listeners.filter(({ inode }) => sockets.has(inode)).map(({ port }) => port));
  return [...ports].sort((a, b) => a - b);
}

/** A listening TCP socket of this host. */
export interface Listener {
  /** In the kernel's form: hexadecimal, each 32 bits in the machine's byte order. */
  address: string;
  port: number;
  /** The user that created the socket. */
  uid: number;
  inode: string;
  /** True if it listens on every IPv6 address, and on every IPv4 address unless it declined that. */
  anyIpv6: boolean;
}

/**
 * Returns the listening sockets that a connection to this IPv4 address and port can reach.
 * Returns null without /proc.
 */
export async function listenersOf(address: string, port: number): Promise<Listener[] | null> {
  const listeners = await allListeners();
  const covering = addressesCovering(address);
  return listeners?.filter((listener) => listener.port === port && covering.has(listener.address)) ?? null;
}

/** Returns the address, the wildcard address, and both in the IPv6 sockets' form. */
function addressesCovering(address: string): Set<string> {
  const plain = Buffer.from(address.split('.').map(Number).reverse()).toString('hex').toUpperCase();
  const any = '0'.repeat(8);
  const mapped = `${any}${any}FFFF0000`;
  return new Set([plain, any, any.repeat(4), mapped + plain, mapped + any]);
}

async function allListeners(): Promise<Listener[] | null> {
  const tables = [await readQuietly('/proc/net/tcp'), await readQuietly('/proc/net/tcp6')];
  if (tables[0] === null) return null;
  const found: Listener[] = [];
  for (const line of tables.flatMap((table) => (table ?? '').split('\n').slice(1))) {
    const [, local = '', , state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (state !== LISTEN || inode === undefined) continue;
    const [address = '', port = ''] = local.split(':');
    const anyIpv6 = /^0{32}$/.test(address);
    found.push({ address, port: Number.parseInt(port, 16), uid: Number(uid), inode, anyIpv6 });
  }
  return found;
}

const LISTEN = '0A';

/** Returns null if the process has ended or may not be inspected. */
async function readQuietly(path: string, encoding: BufferEncoding = 'utf8'): Promise<string | null> {
  try {
    return await readFile(path, encoding);
  } catch {
    return null;
  }
}

async function listQuietly(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}
