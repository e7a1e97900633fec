import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

export const TYPE = { commit: 1, tree: 2, blob: 3, delta: 7 };

export function packOf(objects: Buffer[]): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const content = Buffer.concat([head, ...objects]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

/** Encodes an object for a pack. */
export function packed(type: number, content: Buffer): Buffer {
  return Buffer.concat([objectHead(type, content.length), deflateSync(content)]);
}

export function idOf(type: 'commit' | 'tree' | 'blob', content: Buffer): Buffer {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest();
}

const BASE_BYTES = 16 * 1024 ** 2 - 1;

/** Returns deltas that each expand to `copies` times 16 MiB from a few bytes of the pack, after their base object. */
export function deltaBomb(deltas: number, copies: number): Buffer[] {
  const base = Buffer.alloc(BASE_BYTES);
  // The instruction of a delta that copies the whole base.
  const copy = Buffer.from([0x80 | 0x10 | 0x20 | 0x40, 0xff, 0xff, 0xff]);
  const baseId = idOf('blob', base);
  const bombs = Array.from({ length: deltas }, (_, i) => {
    // Each result ends differently, so that each has its own id.
    const end = Buffer.from([4, ...Buffer.from(String(i).padStart(8, '0'), 'hex')]);
    const size = varint(copies * base.length + 4);
    const delta = Buffer.concat([varint(base.length), size, ...Array.from({ length: copies }, () => copy), end]);
    return Buffer.concat([objectHead(TYPE.delta, delta.length), baseId, deflateSync(delta)]);
  });
  return [packed(TYPE.blob, base), ...bombs];
}

export function pktLine(text: string): string {
  return `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low + 128 : low);
  } while (rest > 0);
  return Buffer.from(bytes);
}

export function objectHead(type: number, size: number): Buffer {
  const rest = Math.floor(size / 16);
  const first = type * 16 + (size % 16);
  return rest === 0 ? Buffer.from([first]) : Buffer.concat([Buffer.from([first + 128]), varint(rest)]);
}
