import { v7 as uuidv7 } from 'uuid';
import { assertRestorable } from '../backups/restore-commands.js';
import { latestBackups } from '../backups/store.js';
import type { Transaction } from '../core/database/database-client.js';
import { conflict } from '../core/error-registry.js';
import { queueOperation } from '../operations/commands.js';
import type { CommandDeps } from '../secrets/command-deps.js';
import type { ServiceConfiguration } from '../services/configuration.js';
import { insertService } from '../services/insert-service.js';
import { reservedSlugs } from '../services/reserved-slugs.js';
import type { ServiceRow } from '../services/rows.js';
import { getService } from '../services/store.js';
import type { ResolvedVariables } from '../variables/resolve-variables.js';
import { workspaceOf } from '../workspaces/store.js';
import { assertRoomForService } from '../workspaces/workspace-limits.js';
import { insertOwnDatabase, ownDatabases } from './database-store.js';
import { previewName } from './model.js';

export interface OwnDatabasesInput {
  preview: ServiceRow;
  branch: string;
  databases: ServiceConfiguration['previewDatabases'];
  resolved: ResolvedVariables;
  actor: string;
  deploy: (database: ServiceRow) => Promise<unknown>;
}

/**
 * Returns a preview's variables, with references to the databases that the preview may use. If the preview uses
 * databases of its own, creates those that are missing, and queues their deployment and the restore of the original
 * database's latest backup. The caller must hold the preview's lock. Throws conflict if an original database or its
 * backup was deleted, capacity_exceeded, and errors of `deploy`.
 */
export async function withPreviewDatabases(
  trx: Transaction,
  deps: CommandDeps,
  input: OwnDatabasesInput,
): Promise<ResolvedVariables> {
  const { preview, databases, resolved } = input;
  const wanted = [...new Set(Object.values(resolved.dataReferences).map(({ serviceId }) => serviceId))];
  if (databases === 'shared' || wanted.length === 0) return resolved;
  if (databases === 'none') return { ...resolved, dataReferences: {} };
  const known = await ownDatabases(trx, preview.id);
  const own = new Map(known.map(({ original_id, service_id }) => [original_id, service_id]));
  for (const id of wanted) if (!own.has(id)) own.set(id, await makeOwn(trx, deps, input, id));
  return { ...resolved, dataReferences: pointTo(resolved.dataReferences, own) };
}

/** Returns the references with replaced database ids. `own` maps the original database's id to the new id. */
export function pointTo(
  references: ResolvedVariables['dataReferences'],
  own: ReadonlyMap<string, string>,
): ResolvedVariables['dataReferences'] {
  return Object.fromEntries(
    Object.entries(references).map(([variable, { serviceId, key }]) => [
      variable,
      { serviceId: own.get(serviceId) ?? serviceId, key },
    ]),
  );
}

async function makeOwn(
  trx: Transaction,
  deps: CommandDeps,
  { preview, branch, actor, deploy }: OwnDatabasesInput,
  originalId: string,
): Promise<string> {
  const original = await getService(trx, originalId);
  if (!original) throw conflict('A database that the variables refer to was deleted');
  await assertRoomForService(trx, await workspaceOf(trx, preview.workspace_id));
  const { workspace_id, project_id, environment_id } = preview;
  const row = {
    ...{ id: uuidv7(), workspace_id, project_id, environment_id, kind: original.kind, sealed_repository: null },
    name: previewName(original.name, branch),
    configuration: { ...original.configuration, backupEnabled: false },
  };
  const service = await insertService(trx, row, reservedSlugs(deps.config.reservedSlugs));
  const [backup] = await latestBackups(trx, [original.id]);
  const own = { service_id: service.id, preview_id: preview.id, original_id: original.id };
  await insertOwnDatabase(trx, { ...own, backup_id: backup?.id ?? null });
  await deploy(service);
  if (backup === undefined) return service.id;
  const missing = () => conflict(`The backup of ${original.name} was deleted`);
  await assertRestorable(trx, { service, from: original, backupId: backup.id, missing });
  await queueOperation(trx, { service, actor }, 'restore', { backupId: backup.id });
  return service.id;
}
