import { choice, list, optional, required, secret, secrets, setting, settingsOf, text, urlOf } from './setting.js';

const KEY_BYTES = 32;
const isKey = (given: string) => Buffer.from(given, 'base64').length === KEY_BYTES;

const worker = settingsOf('worker');

export const STORAGE_SETTINGS = {
  DATA_DIR: setting(
    text('.data'),
    ['start', 'api', 'worker', 'edge', 'admin'],
    'The folder of images, mirrors, pushed repositories, caches and outputs of processes, and of the embedded database.',
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
    'Further keys, separated by commas, that open what they sealed while [keys are rotated](../how-to/rotate-keys.md).',
  ),
  BACKUP_STORE: worker(
    choice(['folder', 's3'], 'folder'),
    'Where backups are kept: `folder` is `DATA_DIR/backups` of the host that runs the service, `s3` is S3-compatible storage, see [backups](../how-to/back-up-databases.md).',
  ),
  BACKUP_S3_BUCKET: worker(optional(), 'For `BACKUP_STORE=s3`: the bucket, which exists.'),
  BACKUP_S3_ENDPOINT: worker(
    optional(urlOf('https?', 'must be an address such as https://s3.example.com')),
    "For `BACKUP_STORE=s3`: the address of the storage, if it is not Amazon's. Buckets are in its path.",
    "Amazon's",
  ),
  BACKUP_S3_REGION: worker(text('us-east-1'), 'For `BACKUP_STORE=s3`: the region.'),
  BACKUP_S3_ACCESS_KEY_ID: worker(
    optional(),
    'For `BACKUP_STORE=s3`: the key, together with `BACKUP_S3_SECRET_ACCESS_KEY`.',
    "as Amazon's client finds it on the host",
  ),
  BACKUP_S3_SECRET_ACCESS_KEY: worker(secret(optional()), 'The secret of this key.'),
  BACKUP_S3_PREFIX: worker(
    text(''),
    'For `BACKUP_STORE=s3`: what the names of all objects begin with, for instance `backups/`. The id of the installation follows, so that several may share a bucket.',
  ),
  LOG_LEVEL: setting(
    choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    ['start', 'api', 'worker', 'edge'],
    '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  ),
};
