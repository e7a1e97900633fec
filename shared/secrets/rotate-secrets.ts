import { type Db, lockUntilCommit } from '../core/database/database-client.js';
import { AppError, conflict, errorMessage } from '../core/error-registry.js';
import { type Keyring, SealError } from './keyring.js';
import { openFrom, SEALED_COLUMNS, type SealedColumn, sealIn } from './sealed-columns.js';
import {
  countSealedWith,
  forgetKey,
  forgetOtherKeys,
  recordKey,
  replaceSealed,
  type SealedValue,
  sealedWithAnotherKey,
  usedKeys,
} from './sealed-values.js';

const BATCH = 200;

export interface Rotation {
  key: string;
  /** Table → number of values that were sealed again. */
  resealed: Record<string, number>;
  /** Number of values that other processes changed during the rotation. They were processed again. */
  changedMeanwhile: number;
  /** Values that no configured key can unseal, with the reason. Older keys are needed until this list is empty. */
  unopenable: { table: string; id: string; reason: string }[];
}

/** Throws a `SealError` if stored values may be sealed with an unknown key. Otherwise records the current key. */
export async function assertKeysFit(db: Db, keyring: Keyring): Promise<void> {
  await db.transaction(async (trx) => {
    await lockUntilCommit(trx, 'ranvier.secrets-keys');
    const missing = (await usedKeys(trx)).filter((id) => !keyring.ids.includes(id));
    if (missing.length > 0) {
      throw new SealError(
        `SECRETS_KEY (its id is ${keyring.currentId}) does not open what this database holds, which is sealed with key ` +
          `${missing.join(', ')}: set SECRETS_KEY to that key, or add it to SECRETS_KEY_PREVIOUS while keys are rotated`,
      );
    }
    await recordKey(trx, keyring.currentId);
  });
}

/** Reseals all stored values with the current key. It may be repeated, interrupted, or run during deployments. */
export async function rotateSecrets(db: Db, keyring: Keyring): Promise<Rotation> {
  await assertKeysFit(db, keyring);
  const rotation: Rotation = { key: keyring.currentId, resealed: {}, changedMeanwhile: 0, unopenable: [] };
  for (const store of SEALED_COLUMNS) {
    if (!(await db.schema.hasColumn(store.table, store.column))) continue;
    rotation.resealed[store.table] ??= 0;
    // Repeated, because a process that still uses an older key may have sealed a changed value with that key.
    while ((await rotateOnce(db, keyring, store, rotation)) > 0);
  }
  if (rotation.unopenable.length === 0) await forgetOtherKeys(db, keyring.currentId);
  return rotation;
}

/**
 * Lets the platform start without a key that was lost. Returns the number of lost values per table, which must be set
 * again. Throws not_found if the key is not recorded as used, and conflict if the key is configured.
 */
export async function forgetLostKey(db: Db, keyring: Keyring, keyId: string): Promise<Record<string, number>> {
  if (keyring.ids.includes(keyId)) throw conflict(`key ${keyId} is not lost: it is configured`);
  const closed: Record<string, number> = {};
  for (const store of SEALED_COLUMNS) {
    closed[store.table] = (closed[store.table] ?? 0) + (await countSealedWith(db, store, keyId));
  }
  if (!(await forgetKey(db, keyId))) throw new AppError('not_found', `no value is noted as sealed with key ${keyId}`);
  return closed;
}

/** Returns how many values were not replaced because other processes had changed them meanwhile. */
async function rotateOnce(db: Db, keyring: Keyring, store: SealedColumn, rotation: Rotation): Promise<number> {
  const unopenable: Rotation['unopenable'] = [];
  let [resealed, changed] = [0, 0];
  for (let after: string | null = null; ; ) {
    const batch: SealedValue[] = await sealedWithAnotherKey(db, store, keyring.currentId, after, BATCH);
    for (const value of batch) {
      const fresh = reseal(keyring, store, value);
      if (typeof fresh === 'string') unopenable.push({ table: store.table, id: value.id, reason: fresh });
      else if (await replaceSealed(db, store, value, fresh)) resealed += 1;
      else changed += 1;
    }
    after = batch.at(-1)?.id ?? null;
    if (after === null) break;
  }
  rotation.resealed[store.table] = (rotation.resealed[store.table] ?? 0) + resealed;
  rotation.changedMeanwhile += changed;
  if (changed === 0) rotation.unopenable.push(...unopenable);
  return changed;
}

/** Returns the value sealed with the current key, or the reason why it cannot be unsealed. */
function reseal(keyring: Keyring, store: SealedColumn, { id, sealed }: SealedValue): Buffer | string {
  try {
    return sealIn(keyring, store, id, openFrom(keyring, store, id, sealed));
  } catch (error) {
    if (error instanceof SealError) return errorMessage(error);
    throw error;
  }
}
