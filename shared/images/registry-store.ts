import type { Db } from '../core/database/client.js';
import type { RegistryRow } from './model.js';

/** Stores a registry's credentials; undefined if the workspace has some of that name. */
export async function insertRegistry(
  db: Db,
  registry: Omit<RegistryRow, 'created_at'>,
): Promise<RegistryRow | undefined> {
  const [row] = await db<RegistryRow>('registries')
    .insert(registry)
    .onConflict(['workspace_id', 'name'])
    .ignore()
    .returning('*');
  return row;
}

/** The registry of that id if it is the workspace's. */
export async function findRegistry(db: Db, workspaceId: string, id: string): Promise<RegistryRow | undefined> {
  return db<RegistryRow>('registries').where({ id, workspace_id: workspaceId }).first();
}

/** The workspace's, oldest first. */
export async function listRegistries(db: Db, workspaceId: string): Promise<RegistryRow[]> {
  return db<RegistryRow>('registries').where({ workspace_id: workspaceId }).orderBy(['created_at', 'id']);
}

/** Returns the row that was deleted; undefined if there is none with this id. */
export async function deleteRegistry(db: Db, id: string): Promise<RegistryRow | undefined> {
  const [row] = await db<RegistryRow>('registries').where({ id }).delete().returning('*');
  return row;
}
