import ipaddr from 'ipaddr.js';
import { beginningOf } from '../../shared/core/beginning-of.js';

export interface ListeningSocket {
  /** `0.0.0.0` and `::` mean all addresses. */
  address: string;
  port: number;
}

export interface ListedSocket extends ListeningSocket {
  /** The user that created the socket. */
  uid: number;
  inode: string;
}

const LISTEN = '0A';
/** Listening sockets are in the first lines of `/proc/<pid>/net/tcp`; a million lines about connections may follow. */
const MAX_BYTES = 256 * 1024;

/** Returns the listening sockets in a process's network namespace; null if the process has ended. */
export async function socketsOfNamespace(pid: number, maxBytes = MAX_BYTES): Promise<ListedSocket[] | null> {
  const [tcp, tcp6] = await Promise.all(
    ['tcp', 'tcp6'].map((name) => beginningOf(`/proc/${pid}/net/${name}`, maxBytes, 'latin1').catch(() => null)),
  );
  if (typeof tcp !== 'string') return null;
  return [...parseSockets(tcp), ...parseSockets(tcp6 ?? '')];
}

/** Parses the listening sockets in the contents of `/proc/<pid>/net/tcp` or `tcp6`. */
export function parseSockets(text: string): ListedSocket[] {
  const found: ListedSocket[] = [];
  for (const line of text.split('\n')) {
    const [, local = '', , state, , , , uid, , inode = ''] = line.trim().split(/\s+/);
    const match = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(local);
    if (state !== LISTEN || match === null) continue;
    const [, address = '', port = ''] = match;
    found.push({ address: addressOf(address), port: Number.parseInt(port, 16), uid: Number(uid), inode });
  }
  return found;
}

/** The kernel prints each 32-bit word in the machine's byte order, little-endian. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex').reverse()]);
  // `process` converts an IPv6 address that contains an IPv4 address to the IPv4 address.
  return ipaddr.process(ipaddr.fromByteArray(bytes).toString()).toString();
}
