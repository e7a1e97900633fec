import type { Db, Transaction } from '../core/database/database-client.js';
import { AppError, conflict } from '../core/error-registry.js';
import { openDataReferences } from '../data/commands.js';
import type { DeploymentRow } from '../deployments/rows.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { openFrom, SEALED, sealIn } from '../secrets/sealed-columns.js';
import type { ResolvedVariables } from './resolve-variables.js';
import {
  eraseUnusedSnapshots,
  findSnapshot,
  getSnapshot,
  insertSnapshot,
  readsProtected,
  resealSnapshot,
  type SnapshotRow,
  snapshotIdOf,
} from './snapshot-store.js';

/** Maximum number of snapshots per service, for unfinished deployments and possible rollbacks. */
const MAX_SNAPSHOTS = 100;

/**
 * Stores a deployment's variables, unless an equal snapshot exists, and returns the snapshot's id. The caller must hold
 * the service's lock. Throws capacity_exceeded.
 */
export async function storeSnapshot(
  trx: Transaction,
  keyring: Keyring,
  { serviceId, deploymentId, resolved }: { serviceId: string; deploymentId: string; resolved: ResolvedVariables },
): Promise<string> {
  const left = await eraseUnusedSnapshots(trx, serviceId);
  const { values, dataReferences, providerIds, groupIds, readProtected } = resolved;
  const references = Object.keys(dataReferences).length === 0 ? [] : [sorted(dataReferences)];
  const content = [sorted(values), providerIds, groupIds, readProtected, ...references];
  const digest = keyring.fingerprint(JSON.stringify(content), serviceId);
  const known = await findSnapshot(trx, serviceId, digest);
  if (known) {
    // If the key that sealed the stored copy was lost, the content is sealed again, because it is available here.
    if (!opens(keyring, known)) {
      await resealSnapshot(trx, known.id, sealIn(keyring, SEALED.snapshot, known.id, JSON.stringify(values)));
    }
    return known.id;
  }
  if (left >= MAX_SNAPSHOTS) {
    throw new AppError(
      'capacity_exceeded',
      `${MAX_SNAPSHOTS} deployments of this service wait, each with other variables; cancel some, or wait for their end`,
    );
  }
  await insertSnapshot(trx, {
    id: deploymentId,
    service_id: serviceId,
    digest,
    sealed: sealIn(keyring, SEALED.snapshot, deploymentId, JSON.stringify(values)),
    data_references: dataReferences,
    provider_ids: providerIds,
    group_ids: groupIds,
    read_protected: readProtected,
  });
  return deploymentId;
}

/**
 * Returns a deployment's unsealed variables, with the current values of references to databases. Throws a `SealError`
 * if unsealing fails, if the variables were erased, or if a database was deleted.
 */
export async function openSnapshot(
  db: Db,
  keyring: Keyring,
  snapshot: Pick<SnapshotRow, 'id' | 'sealed' | 'data_references'> | null,
): Promise<Record<string, string>> {
  if (snapshot === null) throw new SealError('the variables of this deployment were erased');
  const values: Record<string, string> = JSON.parse(openFrom(keyring, SEALED.snapshot, snapshot.id, snapshot.sealed));
  return { ...values, ...(await openDataReferences(db, keyring, snapshot.data_references)) };
}

type Authorize = (facts: { protectedEnvironment: boolean }) => void;

/** Checks that a snapshot can be unsealed and that `authorize` permits its use. Throws conflict, forbidden. */
export async function assertSnapshotUsable(
  trx: Transaction,
  keyring: Keyring,
  source: DeploymentRow,
  authorize: Authorize,
): Promise<void> {
  const snapshot = source.snapshot_id === null ? null : await getSnapshot(trx, source.snapshot_id);
  try {
    await openSnapshot(trx, keyring, snapshot);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw conflict(`The variables of this deployment cannot be opened: ${error.message}`);
  }
  await assertSnapshotPermitted(trx, source.snapshot_id, authorize);
}

/**
 * Checks that a user may read a deployment's variables. Used before a command of the user starts, which could print
 * them. Throws errors of `authorize`.
 */
export async function assertVariablesPermitted(
  trx: Transaction,
  deploymentId: string | null,
  authorize: Authorize,
): Promise<void> {
  const id = deploymentId === null ? null : await snapshotIdOf(trx, deploymentId);
  await assertSnapshotPermitted(trx, id, authorize);
}

async function assertSnapshotPermitted(trx: Transaction, id: string | null, authorize: Authorize): Promise<void> {
  if (id === null || !(await readsProtected(trx, id))) return;
  try {
    authorize({ protectedEnvironment: true });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(
      error.code,
      'The variables of this deployment have values of a protected environment: ask an admin',
    );
  }
}

function opens(keyring: Keyring, { id, sealed }: SnapshotRow): boolean {
  try {
    openFrom(keyring, SEALED.snapshot, id, sealed);
    return true;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}

function sorted<T>(values: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
}
