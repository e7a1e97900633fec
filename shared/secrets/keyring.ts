import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { Sensitive } from '../core/sensitive.js';

const VERSION = 1;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES;
/** Number of bytes that sealing adds to a value's UTF-8 encoding. */
export const SEAL_OVERHEAD_BYTES = HEADER_BYTES;

/** Thrown if a value cannot be unsealed. Either its key is unknown, it belongs to another row, or it was modified. */
export class SealError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SealError';
  }
}

/**
 * Seals secret values with AES-256-GCM. `context` names the row to which a value belongs (`variable:<id>`), so a value
 * copied to another row cannot be unsealed.
 */
export class Keyring {
  readonly #keys = new Map<string, Buffer>();
  readonly #current: { id: Buffer; key: Buffer };

  /** The first key seals new values; every key unseals stored ones. Each key is 32 bytes in base64. */
  constructor(current: Sensitive, ...older: Sensitive[]) {
    for (const secret of [current, ...older]) {
      const key = Buffer.from(secret.reveal(), 'base64');
      if (key.length !== 32) throw new SealError('a secrets key must be base64 of exactly 32 bytes');
      this.#keys.set(keyId(key).toString('hex'), key);
    }
    const key = Buffer.from(current.reveal(), 'base64');
    this.#current = { id: keyId(key), key };
  }

  /** Id of the key that seals new values, in hexadecimal. */
  get currentId(): string {
    return this.#current.id.toString('hex');
  }

  /** Ids of all keys that can unseal values. */
  get ids(): string[] {
    return [...this.#keys.keys()];
  }

  seal(plaintext: string, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce);
    cipher.setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), this.#current.id, nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** Returns a 32-byte HMAC, which reveals nothing about the text without the sealing key. */
  fingerprint(text: string, context: string): Buffer {
    const key = hkdfSync('sha256', this.#current.key, '', 'ranvier.fingerprint', 32);
    return createHmac('sha256', Buffer.from(key)).update(`${context}\0`).update(text).digest();
  }

  /** Unseals a value. Throws `SealError`. */
  open(sealed: Buffer, context: string): string {
    if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION)
      throw new SealError('the sealed value has no known format');
    const id = sealed.subarray(1, 1 + KEY_ID_BYTES).toString('hex');
    const key = this.#keys.get(id);
    if (!key) {
      throw new SealError(
        `it was sealed with key ${id}, which is neither SECRETS_KEY (its id is ${this.currentId}) nor in SECRETS_KEY_PREVIOUS`,
      );
    }
    const nonce = sealed.subarray(1 + KEY_ID_BYTES, 1 + KEY_ID_BYTES + NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce);
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(HEADER_BYTES - TAG_BYTES, HEADER_BYTES));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]).toString('utf8');
    } catch {
      throw new SealError('the sealed value was changed or belongs to another row');
    }
  }
}

function keyId(key: Buffer): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES);
}
