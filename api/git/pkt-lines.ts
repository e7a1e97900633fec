/** A packet's text without the line break; null for the flush packet that ends a section. */
export type Packet = string | null;

const HEAD_BYTES = 4;
const MAX_PACKET_BYTES = 65_520;

/** Splits received bytes into packets of git's pkt-line format. Throws if they have another format. */
export class PacketReader {
  #rest: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): Packet[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const packets: Packet[] = [];
    while (this.#rest.length >= HEAD_BYTES) {
      const head = this.#rest.toString('latin1', 0, HEAD_BYTES);
      const length = /^[0-9a-f]{4}$/i.test(head) ? Number.parseInt(head, 16) : Number.NaN;
      if (!(length === 0 || (length >= HEAD_BYTES && length <= MAX_PACKET_BYTES)))
        throw new Error('git sent no pkt-line');
      if (length === 0) {
        packets.push(null);
        this.#rest = this.#rest.subarray(HEAD_BYTES);
        continue;
      }
      if (this.#rest.length < length) break;
      packets.push(this.#rest.toString('utf8', HEAD_BYTES, length).replace(/\n$/, ''));
      this.#rest = this.#rest.subarray(length);
    }
    return packets;
  }
}

export const FLUSH = '0000';

export function packet(text: string): Buffer {
  const bytes = Buffer.from(`${text}\n`);
  return Buffer.concat([Buffer.from((bytes.length + HEAD_BYTES).toString(16).padStart(HEAD_BYTES, '0')), bytes]);
}
