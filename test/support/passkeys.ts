import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Db } from '../../shared/core/database/database-client.js';
import type { Json } from './api.js';

/** Flags of an authenticator's answer: a person was there, and was verified by a PIN or a fingerprint. */
const PRESENT = 1;
const VERIFIED = 4;

/** A passkey in the memory of the test, which answers as a device does. */
export interface SoftPasskey {
  id: string;
  /** Answers the options of the API, as a browser at this origin does. */
  answer(options: Json, of: { origin: string; verified?: boolean; changes?: object }): Json;
}

/** Stores a new passkey of the user, and returns it. */
export async function makePasskey(db: Db, userId: string): Promise<SoftPasskey> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = uuidv7().replaceAll('-', '');
  await db('passkeys').insert({
    ...{ id: uuidv7(), user_id: userId, name: 'Soft', credential_id: id, counter: 0 },
    // COSE: an elliptic curve (1: 2) for ES256 (3: -7) on P-256 (-1: 1), with x (-2) and y (-3).
    public_key: Buffer.concat([
      Buffer.from('a50102032620012158', 'hex'),
      Buffer.from([32]),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ]),
  });
  return {
    id,
    answer({ challenge, rpId }, { origin, verified = false, changes = {} }) {
      const client = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin, ...changes }));
      const flags = PRESENT | (verified ? VERIFIED : 0);
      const data = Buffer.concat([hash(String(rpId)), Buffer.from([flags, 0, 0, 0, 0])]);
      const signature = sign('sha256', Buffer.concat([data, hash(client)]), privateKey);
      return {
        ...{ id, rawId: id, type: 'public-key' },
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      };
    },
  };
}

function hash(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}
