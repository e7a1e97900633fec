import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../shared/core/error-registry.js';

/** A cursor is invalid for another caller, workspace, path or filter. */
export interface CursorBinding {
  caller: string;
  path: string;
  /** The query parameters except `limit` and `cursor`. */
  filters: Readonly<Record<string, unknown>>;
}

export interface CursorPosition {
  createdAt: Date;
  id: string;
}

const TIME_BYTES = 8;
const ID_BYTES = 16;
const TAG_BYTES = 16;
const LENGTH = TIME_BYTES + ID_BYTES + TAG_BYTES;

/** Encodes the cursors of collections. A cursor is authenticated, and bound to its caller, path and filters. */
export class CursorCodec {
  readonly #key: Buffer;

  constructor(secret: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'ranvier.cursor', 32));
  }

  encode(position: CursorPosition, binding: CursorBinding): string {
    const place = Buffer.alloc(TIME_BYTES + ID_BYTES);
    place.writeBigInt64BE(BigInt(position.createdAt.getTime()));
    place.write(position.id.replaceAll('-', ''), TIME_BYTES, 'hex');
    return Buffer.concat([place, this.#tag(place, binding)]).toString('base64url');
  }

  /** Decodes a cursor. Throws `invalid_cursor` unless it was encoded for this binding. */
  decode(cursor: string, binding: CursorBinding): CursorPosition {
    const bytes = Buffer.from(cursor, 'base64url');
    if (bytes.length !== LENGTH || bytes.toString('base64url') !== cursor) throw new AppError('invalid_cursor');
    const place = bytes.subarray(0, TIME_BYTES + ID_BYTES);
    if (!timingSafeEqual(bytes.subarray(place.length), this.#tag(place, binding))) throw new AppError('invalid_cursor');
    const hex = place.toString('hex', TIME_BYTES);
    return {
      createdAt: new Date(Number(place.readBigInt64BE())),
      id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    };
  }

  #tag(place: Buffer, { caller, path, filters }: CursorBinding): Buffer {
    const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
    const context = JSON.stringify([caller, path, sorted]);
    return createHmac('sha256', this.#key).update(place).update(context).digest().subarray(0, TAG_BYTES);
  }
}
