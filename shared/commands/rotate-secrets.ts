import { type Db, lockUntilCommit } from '../db/client.js';
import {
  countSealedWith,
  forgetKey,
  forgetOtherKeys,
  noteKey,
  replaceSealed,
  type SealedColumn,
  type SealedValue,
  sealedWithAnotherKey,
  usedKeys,
} from '../db/sealed.js';
import { AppError, errorMessage } from '../errors.js';
import { type Keyring, SealError } from '../secrets/keyring.js';
import { snapshotContext } from './queue-deployment.js';
import { registryContext } from './registries.js';
import { deploymentAddressContext, serviceAddressContext } from './repository-address.js';

const BATCH = 200;

/** Everything that is sealed, and what each value is bound to. */
const SEALED: (SealedColumn & { contextOf: (id: string) => string })[] = [
  { table: 'variables', column: 'sealed', contextOf: (id) => `variable:${id}` },
  { table: 'services', column: 'sealed_repository', contextOf: serviceAddressContext },
  { table: 'deployments', column: 'sealed_variables', contextOf: snapshotContext },
  { table: 'deployments', column: 'sealed_repository', contextOf: deploymentAddressContext },
  { table: 'registries', column: 'sealed_password', contextOf: registryContext },
  { table: 'users', column: 'totp_sealed', contextOf: (id) => `user-totp:${id}` },
];

export interface Rotation {
  /** The id of the key that seals now. */
  key: string;
  /** How many values were sealed anew, by table. */
  resealed: Record<string, number>;
  /** Values that somebody else changed in that moment; they were looked at again. */
  changedMeanwhile: number;
  /** What no key opens, and why; older keys are needed as long as there is anything here. */
  unopenable: { table: string; id: string; reason: string }[];
}

/**
 * Throws an error for people where the stored values may be sealed with a key that this process does not have; notes its
 * own key otherwise, so that a process with another one does not start.
 */
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
    await noteKey(trx, keyring.currentId);
  });
}

/**
 * Seals every stored value that is sealed with another key anew with the current one. Twice, interrupted or beside running
 * deployments is harmless: a value is replaced only as long as it is the one that was opened.
 */
export async function rotateSecrets(db: Db, keyring: Keyring): Promise<Rotation> {
  await assertKeysFit(db, keyring);
  const rotation: Rotation = { key: keyring.currentId, resealed: {}, changedMeanwhile: 0, unopenable: [] };
  for (const store of SEALED) {
    if (!(await db.schema.hasColumn(store.table, store.column))) continue;
    rotation.resealed[store.table] ??= 0;
    // What was changed meanwhile may have been sealed with an older key by a process that still has that one.
    while ((await rotateOnce(db, keyring, store, rotation)) > 0);
  }
  if (rotation.unopenable.length === 0) await forgetOtherKeys(db, keyring.currentId);
  return rotation;
}

/**
 * Lets the platform start again without a key that is lost. What it sealed stays closed: returns how many values of each
 * table, which have to be set again. Throws not_found where no such key is in use, conflict for a key that is there.
 */
export async function forgetLostKey(db: Db, keyring: Keyring, keyId: string): Promise<Record<string, number>> {
  if (keyring.ids.includes(keyId)) throw new AppError('conflict', `key ${keyId} is not lost: it is configured`);
  const closed: Record<string, number> = {};
  for (const store of SEALED) {
    closed[store.table] = (closed[store.table] ?? 0) + (await countSealedWith(db, store, keyId));
  }
  if (!(await forgetKey(db, keyId))) throw new AppError('not_found', `no value is noted as sealed with key ${keyId}`);
  return closed;
}

/** One pass; returns how many values somebody else changed under it. */
async function rotateOnce(
  db: Db,
  keyring: Keyring,
  store: (typeof SEALED)[number],
  rotation: Rotation,
): Promise<number> {
  const unopenable: Rotation['unopenable'] = [];
  let [resealed, changed] = [0, 0];
  for (let after: string | null = null; ; ) {
    const batch: SealedValue[] = await sealedWithAnotherKey(db, store, keyring.currentId, after, BATCH);
    for (const value of batch) {
      const fresh = reseal(keyring, value, store.contextOf(value.id));
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

/** The value sealed with the current key, or why it does not open. */
function reseal(keyring: Keyring, { sealed }: SealedValue, context: string): Buffer | string {
  try {
    return keyring.seal(keyring.open(sealed, context), context);
  } catch (error) {
    if (error instanceof SealError) return errorMessage(error);
    throw error;
  }
}
