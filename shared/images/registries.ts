import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import type { Db } from '../core/database/database-client.js';
import { AppError, conflict, invalidField } from '../core/error-registry.js';
import { Sensitive } from '../core/sensitive.js';
import type { Keyring } from '../secrets/keyring.js';
import { openFrom, SEALED, sealIn } from '../secrets/sealed-columns.js';
import { workspaceOf } from '../workspaces/store.js';
import { canonicalRegistry, isRegistry } from './image-reference.js';
import type { RegistryRow } from './model.js';

export interface RegistryInput {
  workspaceId: string;
  name: string;
  server: string;
  username: string;
  password: string;
}

export interface RegistryCredentials {
  server: string;
  username: string;
  password: Sensitive;
}

/** Stores credentials for a container registry, with a sealed password. Throws not_found, invalid_request, conflict. */
export async function addRegistry(db: Db, keyring: Keyring, input: RegistryInput): Promise<RegistryRow> {
  const name = input.name.trim();
  if (name === '' || name.length > 100) throw invalidField('name', 'must have from 1 to 100 characters');
  if (!isRegistry(input.server))
    throw invalidField('server', `must be a registry such as registry.example.com:5000, not "${input.server}"`);
  if (input.username === '' || input.password === '')
    throw invalidField(input.username === '' ? 'username' : 'password', 'must not be empty');
  await workspaceOf(db, input.workspaceId);
  const id = uuidv7();
  const [row] = await db<RegistryRow>('registries')
    .insert({
      id,
      workspace_id: input.workspaceId,
      name,
      server: canonicalRegistry(input.server),
      username: input.username,
      sealed_password: sealIn(keyring, SEALED.registryPassword, id, input.password),
    })
    .onConflict(['workspace_id', 'name'])
    .ignore()
    .returning('*');
  if (!row) throw conflict(`The workspace has a registry "${name}" already; remove it first`);
  return row;
}

/** Returns the workspace's registry credentials, oldest first. Throws not_found. */
export async function listRegistries(db: Db, workspaceId: string): Promise<RegistryRow[]> {
  await workspaceOf(db, workspaceId);
  return db<RegistryRow>('registries').where({ workspace_id: workspaceId }).orderBy(['created_at', 'id']);
}

/** Deletes registry credentials. Services that use them cannot be deployed until reconfigured. Throws not_found. */
export async function removeRegistry(db: Db, id: string): Promise<RegistryRow> {
  const [row] = await db<RegistryRow>('registries').where({ id }).delete().returning('*');
  if (!row) throw new AppError('not_found', `There is no registry ${id}`);
  return row;
}

/** Returns the workspace's registry credentials with this id; undefined if there are none. The id may be any text. */
export async function findRegistry(db: Db, workspaceId: string, id: string): Promise<RegistryRow | undefined> {
  if (!isUuid(id)) return undefined;
  return db<RegistryRow>('registries').where({ id, workspace_id: workspaceId }).first();
}

/** Returns the unsealed registry credentials that a configuration names; null if there are none. Throws `SealError`. */
export async function openRegistry(
  db: Db,
  keyring: Keyring,
  workspaceId: string,
  registryId: string,
): Promise<RegistryCredentials | null> {
  const row = await findRegistry(db, workspaceId, registryId);
  if (!row) return null;
  const password = new Sensitive(openFrom(keyring, SEALED.registryPassword, row.id, row.sealed_password));
  return { server: row.server, username: row.username, password };
}
