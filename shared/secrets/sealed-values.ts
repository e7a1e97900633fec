import { countOf, type Db, rowsOf, valuesOf } from '../core/database/database-client.js';
import type { SealedColumn } from './sealed-columns.js';

export interface SealedValue {
  id: string;
  sealed: Buffer;
}

/** Returns values that are not sealed with the key `keyId`, ordered by id and starting after `after`. */
export async function sealedWithAnotherKey(
  db: Db,
  { table, column }: SealedColumn,
  keyId: string,
  after: string | null,
  limit: number,
): Promise<SealedValue[]> {
  return rowsOf<SealedValue>(
    db,
    `select id, ??  as sealed from ??
      where length(??) > 0 and substring(?? from 2 for 4) <> decode(?, 'hex') and (?::uuid is null or id > ?::uuid)
      order by id limit ?`,
    [column, table, column, column, keyId, after, after, limit],
  );
}

/** Replaces a sealed value. Returns false if another process has changed it. */
export async function replaceSealed(
  db: Db,
  { table, column }: SealedColumn,
  { id, sealed }: SealedValue,
  fresh: Buffer,
): Promise<boolean> {
  const match = { id, [column]: sealed };
  return (await db(table).where(match).update(column, fresh)) > 0;
}

/** Returns the ids of all keys with which stored values may be sealed. */
export function usedKeys(db: Db): Promise<string[]> {
  return valuesOf<string>(db, 'select key_id from secrets_keys order by created_at');
}

export async function recordKey(db: Db, keyId: string): Promise<void> {
  await db('secrets_keys').insert({ key_id: keyId }).onConflict('key_id').ignore();
}

export async function forgetOtherKeys(db: Db, keyId: string): Promise<void> {
  await db('secrets_keys').whereNot({ key_id: keyId }).delete();
}

export async function forgetKey(db: Db, keyId: string): Promise<boolean> {
  return (await db('secrets_keys').where({ key_id: keyId }).delete()) > 0;
}

export function countSealedWith(db: Db, { table, column }: SealedColumn, keyId: string): Promise<number> {
  return countOf(db, `select count(*) from ?? where length(??) > 0 and encode(substring(?? from 2 for 4), 'hex') = ?`, [
    table,
    column,
    column,
    keyId,
  ]);
}
