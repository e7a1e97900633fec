import { v7 as uuidv7 } from 'uuid';
import { type Db, returnedRow, type Transaction } from '../core/database/database-client.js';
import type { Keyring } from '../secrets/keyring.js';
import { openFrom, SEALED, sealIn } from '../secrets/sealed-columns.js';
import { newKeyPair } from './key-pair.js';

export interface DeployKeyRow {
  id: string;
  workspace_id: string;
  public_key: string;
  sealed_private_key: Buffer;
  created_at: Date;
}

export interface SshHostRow {
  id: string;
  workspace_id: string;
  host: string;
  keys: string;
  created_at: Date;
}

/** Returns a workspace's key pair, which is generated if there is none. */
export async function ensureDeployKey(db: Db, keyring: Keyring, workspaceId: string): Promise<DeployKeyRow> {
  const find = () => db<DeployKeyRow>('deploy_keys').where({ workspace_id: workspaceId }).first();
  const known = await find();
  if (known) return known;
  const id = uuidv7();
  const { publicKey, privateKey } = newKeyPair(`ranvier-${workspaceId}`);
  const sealed = sealIn(keyring, SEALED.deployKey, id, privateKey);
  await db('deploy_keys')
    .insert({ id, workspace_id: workspaceId, public_key: publicKey, sealed_private_key: sealed })
    .onConflict('workspace_id')
    .ignore();
  return returnedRow(await find());
}

/** Returns the unsealed private key. Throws `SealError`. */
export function openPrivateKey(keyring: Keyring, { id, sealed_private_key }: DeployKeyRow): string {
  return openFrom(keyring, SEALED.deployKey, id, sealed_private_key);
}

export async function findSshHost(db: Db, workspaceId: string, host: string): Promise<SshHostRow | undefined> {
  return db<SshHostRow>('ssh_hosts').where({ workspace_id: workspaceId, host }).first();
}

/** Pins a server's host keys, unless another worker has already done so. Returns the pinned keys. */
export async function pinSshHost(
  db: Db,
  workspaceId: string,
  host: string,
  keys: readonly string[],
): Promise<SshHostRow> {
  await db('ssh_hosts')
    .insert({ id: uuidv7(), workspace_id: workspaceId, host, keys: keys.join('\n') })
    .onConflict(['workspace_id', 'host'])
    .ignore();
  return returnedRow(await findSshHost(db, workspaceId, host));
}

const MAX_SHOWN = 200;

export async function listSshHosts(db: Db, workspaceId: string): Promise<SshHostRow[]> {
  return db<SshHostRow>('ssh_hosts').where({ workspace_id: workspaceId }).orderBy('host').limit(MAX_SHOWN);
}

/** Deletes the pinned host keys of a server, which the next connection pins again. Returns false if there are none. */
export async function forgetSshHost(trx: Transaction, workspaceId: string, id: string): Promise<boolean> {
  return (await trx('ssh_hosts').where({ id, workspace_id: workspaceId }).delete()) > 0;
}
