import { randomInt } from 'node:crypto';
import { anyRow, countOf, type Db, type Transaction } from '../core/database/database-client.js';
import { hashToken } from '../secrets/random-token.js';

const COUNT = 10;
/** Excludes characters that look alike, such as 0 and o. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const HALF = 5;

/** A code's 49 random bits suffice, because a user has only ten attempts in five minutes. */
export const BACKUP_CODE_PATTERN = `[${LETTERS}]{${HALF}}-[${LETTERS}]{${HALF}}`;

/** Replaces a user's backup codes and returns the new ones, such as `k3n9x-7w2pd`. They are shown only once. */
export async function replaceBackupCodes(trx: Transaction, userId: string): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode);
  await deleteBackupCodes(trx, userId);
  await trx('backup_codes').insert(codes.map((code) => ({ user_id: userId, code_hash: hashOf(userId, code) })));
  return codes;
}

/** Uses up a backup code. Returns false if the user has no such unused code. */
export function useBackupCode(trx: Transaction, userId: string, code: string): Promise<boolean> {
  const used = 'delete from backup_codes where user_id = ? and code_hash = ?';
  return anyRow(trx, used, [userId, hashOf(userId, code)]);
}

export async function deleteBackupCodes(trx: Transaction, userId: string): Promise<void> {
  await trx('backup_codes').where({ user_id: userId }).delete();
}

export function countBackupCodes(db: Db, userId: string): Promise<number> {
  return countOf(db, 'select count(*) from backup_codes where user_id = ?', [userId]);
}

function newCode(): string {
  const half = () => Array.from({ length: HALF }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${half()}-${half()}`;
}

/** With the user's id, equal codes of two users have different hashes. */
function hashOf(userId: string, code: string): Buffer {
  return hashToken(`${userId} ${code}`);
}
