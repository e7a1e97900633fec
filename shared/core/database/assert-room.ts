import { AppError } from '../error-registry.js';
import { countOf, lockUntilCommit, type Transaction } from './database-client.js';

const NAMES = {
  alert_rules: 'alert rules',
  drains: 'drains',
  template_sources: 'sources of templates',
  webhooks: 'webhooks',
} as const;

/**
 * Throws capacity_exceeded if the workspace already has `most` rows in the table. The lock keeps concurrent insertions
 * from exceeding the limit together.
 */
export async function assertRoom(
  trx: Transaction,
  table: keyof typeof NAMES,
  workspaceId: string,
  most: number,
): Promise<void> {
  await lockUntilCommit(trx, `ranvier.${table}:${workspaceId}`);
  if ((await countOf(trx, `select count(*) from ${table} where workspace_id = ?`, [workspaceId])) < most) return;
  throw new AppError('capacity_exceeded', `The workspace has ${most} ${NAMES[table]}; delete one first`);
}
