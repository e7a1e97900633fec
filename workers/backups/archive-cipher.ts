import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { BackupError } from '../failures/explained-errors.js';

/**
 * The encryption of an archive: AES-256-GCM in chunks, so that archives of any size can be streamed and every chunk is
 * authenticated before it is used. The nonce contains the chunk's number and a flag for the last one, so that chunks
 * cannot be cut off, added or reordered. Nonces are unique because each archive has its own key.
 */
const CHUNK_BYTES = 256 * 1024;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const MAGIC = Buffer.from('RANVIER1');
const LENGTH_BYTES = 2;
/** Maximum length of the sealed key. A longer key can only come from a damaged archive. */
const MAX_SEALED_KEY_BYTES = 1024;

export function newArchiveKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

function nonceOf(chunk: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt8(last ? 1 : 0, 0);
  nonce.writeBigUInt64BE(BigInt(chunk), 4);
  return nonce;
}

/** The sealed key comes first, so that the installation's key alone suffices to decrypt the archive. */
export class EncryptArchive extends Transform {
  readonly #key: Buffer;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #chunk = 0;

  constructor(key: Buffer, sealedKey: Buffer) {
    super();
    this.#key = key;
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt16BE(sealedKey.length);
    this.push(Buffer.concat([MAGIC, length, sealedKey]));
  }

  override _transform(data: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting.push(data);
    this.#bytes += data.length;
    // A full chunk waits for the next byte: it may be the last chunk, whose nonce differs.
    if (this.#bytes > CHUNK_BYTES) {
      let all = Buffer.concat(this.#waiting);
      for (; all.length > CHUNK_BYTES; all = all.subarray(CHUNK_BYTES)) this.#seal(all.subarray(0, CHUNK_BYTES), false);
      this.#waiting = [all];
      this.#bytes = all.length;
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#seal(Buffer.concat(this.#waiting), true);
    done();
  }

  #seal(plain: Buffer, last: boolean): void {
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(this.#chunk++, last));
    this.push(Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]));
  }
}

/** Decrypts what `EncryptArchive` wrote. Fails with a `BackupError` if the archive was modified or truncated. */
export class DecryptArchive extends Transform {
  readonly #key: Buffer;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #chunk = 0;
  /** The next part of the archive: the format, the sealed key, or the encrypted chunks. */
  #header: 'magic' | 'key' | 'read' = 'magic';
  #keyBytes = 0;

  constructor(key: Buffer) {
    super();
    this.#key = key;
  }

  override _transform(data: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting.push(data);
    this.#bytes += data.length;
    try {
      this.#take();
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    try {
      if (this.#header !== 'read') throw new BackupError('the archive is cut in its header');
      this.#open(Buffer.concat(this.#waiting), true);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #take(): void {
    const wanted = this.#header === 'magic' ? MAGIC.length + LENGTH_BYTES : this.#keyBytes;
    if (this.#header !== 'read') {
      if (this.#bytes < wanted) return;
      const all = Buffer.concat(this.#waiting);
      this.#keep(all.subarray(wanted));
      if (this.#header === 'magic') {
        if (!all.subarray(0, MAGIC.length).equals(MAGIC)) throw new BackupError('the archive has no known format');
        this.#keyBytes = all.readUInt16BE(MAGIC.length);
        if (this.#keyBytes > MAX_SEALED_KEY_BYTES) throw new BackupError('the archive has a damaged header');
        this.#header = 'key';
      } else this.#header = 'read';
      this.#take();
      return;
    }
    const whole = CHUNK_BYTES + TAG_BYTES;
    if (this.#bytes <= whole) return;
    let all = Buffer.concat(this.#waiting);
    for (; all.length > whole; all = all.subarray(whole)) this.#open(all.subarray(0, whole), false);
    this.#keep(all);
  }

  #keep(rest: Buffer): void {
    this.#waiting = [rest];
    this.#bytes = rest.length;
  }

  #open(sealed: Buffer, last: boolean): void {
    const damaged = new BackupError('the archive is damaged: it was changed, cut, or belongs to another backup');
    if (sealed.length < TAG_BYTES) throw damaged;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonceOf(this.#chunk++, last));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    try {
      this.push(Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]));
    } catch {
      throw damaged;
    }
  }
}
