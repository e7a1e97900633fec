import { choice, list, optional, required, secret, secrets, setting, text } from './setting.js';

const KEY_BYTES = 32;
const isKey = (given: string) => Buffer.from(given, 'base64').length === KEY_BYTES;

/** Settings of what the platform keeps: folders, databases, keys, logs. */
export const STORAGE_SETTINGS = {
  DATA_DIR: setting(
    text('.data'),
    ['start', 'worker', 'edge', 'admin'],
    'The folder of images, mirrors, caches and outputs of processes, and of the embedded database.',
  ),
  DATABASE_URL: setting(
    secret(required('a postgres:// address; "npm start" brings its own database')),
    'all',
    'The address of PostgreSQL 14 or newer.',
    'embedded with `npm start`, else required',
  ),
  REDIS_URL: setting(
    secret(
      optional({ valid: (given) => /^rediss?:\/\//.test(given), problem: 'must start with redis:// or rediss://' }),
    ),
    ['start', 'api', 'worker', 'migrate'],
    'Queues are on this Redis. If it is unset, they are on PostgreSQL.',
  ),
  SECRETS_KEY: setting(
    secret(
      required('base64 of 32 random bytes, e.g. from "openssl rand -base64 32"', {
        valid: isKey,
        problem: 'must be base64 of exactly 32 bytes',
      }),
    ),
    ['start', 'api', 'worker', 'admin'],
    '32 bytes in base64. It encrypts variables and other secrets.',
    'made and kept in `DATA_DIR` by `npm start`, else required',
  ),
  SECRETS_KEY_PREVIOUS: setting(
    secrets(list('', { valid: isKey, problem: 'must be a comma list of keys, each base64 of 32 bytes' })),
    ['start', 'api', 'worker', 'admin'],
    'Further keys, separated by commas, that open what they sealed while [keys are rotated](operations.md#keys).',
  ),
  LOG_LEVEL: setting(
    choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    ['start', 'api', 'worker', 'edge'],
    '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  ),
};
