import { generateKeyPairSync, randomBytes } from 'node:crypto';

export interface KeyPair {
  /** In the format `ssh-ed25519 AAAA… comment`. */
  publicKey: string;
  /** In OpenSSH's format, which every version of ssh supports. */
  privateKey: string;
}

const TYPE = 'ssh-ed25519';
const BLOCK = 8;

export function newKeyPair(comment: string): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const point = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const publicBlob = Buffer.concat([text(TYPE), text(point)]);
  const check = randomBytes(4);
  const secret = [check, check, text(TYPE), text(point), text(Buffer.concat([seed, point])), text(comment)];
  const length = secret.reduce((sum, { length: bytes }) => sum + bytes, 0);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (length % BLOCK)) % BLOCK }, (_, index) => index + 1));
  const one = Buffer.from([0, 0, 0, 1]);
  const blob = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    text('none'),
    text('none'),
    text(''),
    one,
    text(publicBlob),
    text(Buffer.concat([...secret, padding])),
  ]);
  const lines = blob.toString('base64').match(/.{1,70}/g) ?? [];
  return {
    publicKey: `${TYPE} ${publicBlob.toString('base64')} ${comment}`,
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`,
  };
}

/** Encodes a string in the SSH wire format: its length, then its bytes. */
function text(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}
