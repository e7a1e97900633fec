import type { Keyring } from './keyring.js';

/** A database column of sealed values; '' and null mean that a row has none. */
export interface SealedColumn {
  table: string;
  column: string;
  /** Each value is sealed with this name and the id of its row, so it is useless in another column or row. */
  binding: string;
  /** How the deletion of a service erases the values; null if it keeps them. `value` empties only the column. */
  erased: { how: 'row' | 'value'; service: 'id' | 'service_id' } | null;
}

/** Every column of sealed values. A test compares the list with the database. */
export const SEALED = {
  variable: column('variables', 'sealed', 'variable', { how: 'row', service: 'service_id' }),
  repository: column('services', 'sealed_repository', 'repository', { how: 'value', service: 'id' }),
  snapshot: column('snapshots', 'sealed', 'deployment', { how: 'row', service: 'service_id' }),
  deploymentRepository: column('deployments', 'sealed_repository', 'deployment-repository', {
    how: 'value',
    service: 'service_id',
  }),
  hookSecret: column('hooks', 'sealed_secret', 'hook', { how: 'row', service: 'service_id' }),
  forgeToken: column('forge_targets', 'sealed_token', 'forge-token', { how: 'row', service: 'service_id' }),
  deployKey: column('deploy_keys', 'sealed_private_key', 'deploy-key', null),
  webhookUrl: column('webhooks', 'sealed_url', 'webhook-url', null),
  webhookSecret: column('webhooks', 'sealed_secret', 'webhook', null),
  drainHeaders: column('drains', 'sealed_headers', 'drain-headers', { how: 'row', service: 'service_id' }),
  detectionRepository: column('detections', 'sealed_repository', 'detection-repository', null),
  templateRepository: column('template_sources', 'sealed_repository', 'template-repository', null),
  backupKey: column('backups', 'sealed_key', 'backup', { how: 'value', service: 'service_id' }),
  registryPassword: column('registries', 'sealed_password', 'registry', null),
  dataPassword: column('data_servers', 'sealed_password', 'data-password', { how: 'value', service: 'id' }),
  dataAdminPassword: column('data_servers', 'sealed_admin_password', 'data-admin-password', {
    how: 'value',
    service: 'id',
  }),
  stackDocument: column('stacks', 'sealed_document', 'stack-document', null),
  stackSteps: column('stack_applies', 'sealed_steps', 'stack-steps', null),
  idToken: column('provider_sign_ins', 'sealed_id_token', 'id-token', null),
  totp: column('users', 'totp_sealed', 'user-totp', null),
} as const satisfies Record<string, SealedColumn>;

export const SEALED_COLUMNS: readonly SealedColumn[] = Object.values(SEALED);

/** Seals a value for the row with this id. */
export function sealIn(keyring: Keyring, { binding }: SealedColumn, id: string, value: string): Buffer {
  return keyring.seal(value, `${binding}:${id}`);
}

/** Unseals the value of the row with this id. Throws `SealError`. */
export function openFrom(keyring: Keyring, { binding }: SealedColumn, id: string, sealed: Buffer): string {
  return keyring.open(sealed, `${binding}:${id}`);
}

function column(table: string, name: string, binding: string, erased: SealedColumn['erased']): SealedColumn {
  return { table, column: name, binding, erased };
}
