// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const SEALS = 'shared/secrets/sealed-columns.ts';
const ROTATE = 'shared/secrets/rotate-secrets.ts';

export const SECRETS_FAULTS: readonly Fault[] = [
  {
    name: 'seal: a value opens in another row',
    file: SEALS,
    find: '${binding}:${id}',
    replace: '${binding}',
    places: 2,
  },
  { name: 'seal: a value opens in another column', file: SEALS, find: '${binding}:${id}', replace: '${id}', places: 2 },
  {
    name: 'seal: a key that is not the first one seals',
    file: 'shared/secrets/keyring.ts',
    find: "const key = Buffer.from(current.reveal(), 'base64');",
    replace: "const key = Buffer.from((older[0] ?? current).reveal(), 'base64');",
  },
  {
    name: 'seal: a process without the key starts',
    file: ROTATE,
    find: 'if (missing.length > 0)',
    replace: 'if (missing.length > 99)',
  },
  {
    name: 'seal: the old key is forgotten although a value needs it',
    file: ROTATE,
    find: 'if (rotation.unopenable.length === 0)',
    replace: 'if (rotation.unopenable.length >= 0)',
  },
  {
    name: 'seal: a value that changed meanwhile is replaced',
    file: 'shared/secrets/sealed-values.ts',
    find: '.where({ id, [column]: sealed })',
    replace: '.where({ id })',
  },
  {
    name: 'seal: a deleted service keeps a sealed column',
    file: 'shared/lifecycle/store.ts',
    find: 'if (erased === null)',
    replace: "if (erased === null || erased.how === 'value')",
  },
  {
    name: 'seal: a deleted service keeps rows with sealed values',
    file: 'shared/lifecycle/store.ts',
    find: 'if (erased === null)',
    replace: "if (erased === null || erased.how === 'row')",
  },
  {
    name: 'seal: equal values look equal',
    file: 'shared/secrets/keyring.ts',
    find: 'const nonce = randomBytes(NONCE_BYTES);',
    replace: 'const nonce = Buffer.alloc(NONCE_BYTES);',
  },
  {
    name: 'seal: a fingerprint is good for every context',
    file: 'shared/secrets/keyring.ts',
    find: '.update(`${context}\\0`)',
    replace: '',
  },
  {
    name: 'seal: a short key is taken',
    file: 'shared/secrets/keyring.ts',
    find: 'if (key.length !== 32)',
    replace: 'if (key.length > 32)',
  },
  {
    name: 'key: any secret opens the door',
    file: 'shared/secrets/api-key.ts',
    find: 'found.length === secretHash.length && timingSafeEqual(found, secretHash)',
    replace: 'found.length === secretHash.length',
  },
  {
    name: 'key: it is stored as it is',
    file: 'shared/secrets/random-token.ts',
    find: 'hash: hashToken(token)',
    replace: 'hash: Buffer.from(token)',
  },
  {
    name: 'password: any one is right',
    file: 'shared/secrets/password.ts',
    find: 'expected.length === found.length && timingSafeEqual(expected, found)',
    replace: 'expected.length === found.length',
  },
  {
    name: 'one-time code: those of five minutes are good',
    file: 'shared/secrets/totp.ts',
    find: 'WINDOW = 1',
    replace: 'WINDOW = 10',
  },
  {
    name: 'mask: only the first of two secrets side by side is hidden',
    file: 'workers/masking/masker.ts',
    find: 'if (last && start <= last[1])',
    replace: 'if (last && start < last[1] - 1)',
  },
  {
    name: 'mask: a value of several lines is only hidden as a whole',
    file: 'workers/masking/masker.ts',
    find: 'if (isSecret(line))',
    replace: 'if (false)',
  },
];
