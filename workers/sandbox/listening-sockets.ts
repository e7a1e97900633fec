import { beginningOf } from '../../shared/core/beginning-of.js';

/** A listening TCP socket. */
export interface ListeningSocket {
  /** `0.0.0.0` and `::` mean all addresses. */
  address: string;
  port: number;
}

/** A listening socket as the kernel lists it. */
export interface ListedSocket extends ListeningSocket {
  /** The user that created the socket. */
  uid: number;
  inode: string;
}

const LISTEN = '0A';
/**
 * Maximum number of bytes to read of `/proc/<pid>/net/tcp`. Listening sockets are in its first lines; a million lines
 * about connections may follow.
 */
const MAX_BYTES = 256 * 1024;

/** Returns the listening sockets in the network namespace of a process; null if it has ended. */
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

/** Parses a hexadecimal address. The kernel prints each 32-bit word in the machine's byte order, little-endian. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).reverse());
  const numbers = bytes.map((byte) => Number.parseInt(byte, 16));
  if (numbers.length === 4) return numbers.join('.');
  const isMapped = numbers.slice(0, 10).every((byte) => byte === 0) && numbers[10] === 255 && numbers[11] === 255;
  if (isMapped) return numbers.slice(12).join('.');
  if (numbers.every((byte) => byte === 0)) return '::';
  if (numbers.slice(0, 15).every((byte) => byte === 0) && numbers[15] === 1) return '::1';
  const words = [0, 2, 4, 6, 8, 10, 12, 14].map((i) => ((numbers[i] ?? 0) * 256 + (numbers[i + 1] ?? 0)).toString(16));
  return words.join(':');
}
