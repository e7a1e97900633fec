import { open } from 'node:fs/promises';

/** A TCP socket that listens. */
export interface ListeningSocket {
  /** `0.0.0.0` and `::` stand for all addresses. */
  address: string;
  port: number;
}

const LISTEN = '0A';
const MAX_BYTES = 256 * 1024;
const CHUNK_BYTES = 16 * 1024;

/** Returns the sockets that listen in the network namespace of this process; null if it has ended. */
export async function socketsOfNamespace(pid: number): Promise<ListeningSocket[] | null> {
  const [tcp, tcp6] = await Promise.all(
    ['tcp', 'tcp6'].map((name) => beginningOf(`/proc/${pid}/net/${name}`).catch(() => null)),
  );
  if (typeof tcp !== 'string') return null;
  return [...parseSockets(tcp), ...parseSockets(tcp6 ?? '')];
}

/**
 * Reads the beginning only. The kernel lists listening sockets first, and an application may have opened a million
 * connections.
 */
async function beginningOf(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let size = 0; size < MAX_BYTES; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
      size += bytesRead;
    }
    return Buffer.concat(chunks).toString('latin1');
  } finally {
    await file.close();
  }
}

/** Returns the listening sockets in the text of `/proc/<pid>/net/tcp` or `tcp6`. */
export function parseSockets(text: string): ListeningSocket[] {
  const found: ListeningSocket[] = [];
  for (const line of text.split('\n')) {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const match = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/.exec(local);
    if (state !== LISTEN || match === null) continue;
    found.push({ address: addressOf(match[1] ?? ''), port: Number.parseInt(match[2] ?? '', 16) });
  }
  return found;
}

/** Converts an address. The kernel prints each 32 bits of it in the machine's byte order, which is little-endian. */
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
