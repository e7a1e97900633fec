import { createHmac, randomBytes } from 'node:crypto';
import { type Db, rowCountOf } from '../../../../shared/core/database/database-client.js';
import { hashToken, sameSecret } from '../../../../shared/secrets/random-token.js';

const LIFETIME_MS = 5 * 60_000;
const NONCE_BYTES = 16;
const TIME_BYTES = 6;

/**
 * Challenges for passkeys. They are signed and not stored, so that people who are not signed in cannot fill a table.
 */
export class Challenges {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  create(subject: string, now = Date.now()): Buffer {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUIntBE(now, 0, TIME_BYTES);
    const body = Buffer.concat([time, randomBytes(NONCE_BYTES)]);
    return Buffer.concat([body, this.#sign(subject, body)]);
  }

  /** Returns true for a challenge that `create` returned for this subject less than five minutes ago. */
  isValid(subject: string, challenge: string, now = Date.now()): boolean {
    const bytes = Buffer.from(challenge, 'base64url');
    const body = bytes.subarray(0, TIME_BYTES + NONCE_BYTES);
    if (body.length < TIME_BYTES + NONCE_BYTES) return false;
    const age = now - body.readUIntBE(0, TIME_BYTES);
    const signature = bytes.subarray(body.length).toString('base64url');
    return age >= 0 && age < LIFETIME_MS && sameSecret(signature, this.#sign(subject, body).toString('base64url'));
  }

  #sign(subject: string, body: Buffer): Buffer {
    return createHmac('sha256', this.#secret).update(`passkey challenge ${subject}\n`).update(body).digest();
  }
}

/** Records that a challenge was used. Returns false if it was used before. */
export async function useChallenge(db: Db, challenge: string): Promise<boolean> {
  await db.raw(`delete from used_challenges where used_at < now() - interval '10 minutes'`);
  const used = 'insert into used_challenges (challenge_hash) values (?) on conflict do nothing';
  return (await rowCountOf(db, used, [hashToken(challenge)])) > 0;
}
