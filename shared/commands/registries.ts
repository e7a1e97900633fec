import { validate as isUuid, v7 as uuidv7 } from 'uuid';
import type { Db } from '../db/client.js';
import { findWorkspace } from '../db/identity.js';
import * as registries from '../db/registries.js';
import type { RegistryRow } from '../db/rows.js';
import { canonicalRegistry, isRegistry } from '../domain/image-reference.js';
import { AppError } from '../errors.js';
import type { Keyring } from '../secrets/keyring.js';
import { Sensitive } from '../secrets/sensitive.js';

export interface RegistryInput {
  workspaceId: string;
  name: string;
  server: string;
  username: string;
  password: string;
}

/** What a registry asks for, in clear. */
export interface RegistryCredentials {
  server: string;
  username: string;
  password: Sensitive;
}

/** The context that binds a sealed password to its row. */
export function registryContext(id: string): string {
  return `registry:${id}`;
}

/** Stores credentials for a registry, the password sealed. Throws not_found, invalid_request, conflict. */
export async function addRegistry(db: Db, keyring: Keyring, input: RegistryInput): Promise<RegistryRow> {
  const name = input.name.trim();
  if (name === '' || name.length > 100) throw invalid('name', 'must have from 1 to 100 characters');
  if (!isRegistry(input.server))
    throw invalid('server', `must be a registry such as registry.example.com:5000, not "${input.server}"`);
  if (input.username === '' || input.password === '')
    throw invalid(input.username === '' ? 'username' : 'password', 'must not be empty');
  await assertWorkspace(db, input.workspaceId);
  const id = uuidv7();
  const row = await registries.insertRegistry(db, {
    id,
    workspace_id: input.workspaceId,
    name,
    server: canonicalRegistry(input.server),
    username: input.username,
    sealed_password: keyring.seal(input.password, registryContext(id)),
  });
  if (!row) throw new AppError('conflict', `The workspace has a registry "${name}" already; remove it first`);
  return row;
}

/** The workspace's registries, oldest first. Throws not_found. */
export async function listRegistries(db: Db, workspaceId: string): Promise<RegistryRow[]> {
  await assertWorkspace(db, workspaceId);
  return registries.listRegistries(db, workspaceId);
}

/** Forgets credentials; services that name them cannot be deployed until they name others. Throws not_found. */
export async function removeRegistry(db: Db, id: string): Promise<RegistryRow> {
  const row = await registries.deleteRegistry(db, id);
  if (!row) throw new AppError('not_found', `There is no registry ${id}`);
  return row;
}

/** The workspace's registry that a configuration names; undefined where it has none of that id. */
export async function findRegistry(db: Db, workspaceId: string, id: string): Promise<RegistryRow | undefined> {
  return isUuid(id) ? registries.findRegistry(db, workspaceId, id) : undefined;
}

/** The credentials that a configuration names; null where it names none, or one that is gone. Throws `SealError`. */
export async function openRegistry(
  db: Db,
  keyring: Keyring,
  workspaceId: string,
  registryId: string,
): Promise<RegistryCredentials | null> {
  const row = await findRegistry(db, workspaceId, registryId);
  if (!row) return null;
  const password = new Sensitive(keyring.open(row.sealed_password, registryContext(row.id)));
  return { server: row.server, username: row.username, password };
}

async function assertWorkspace(db: Db, id: string): Promise<void> {
  if (!(await findWorkspace(db, id))) throw new AppError('not_found', `There is no workspace ${id}`);
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_request', `${field} ${message}`, [{ path: `/${field}`, message }]);
}
