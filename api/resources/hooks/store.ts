import { v4 as uuidv4 } from 'uuid';
import { type Db, oneRow, type Transaction } from '../../../shared/core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../../../shared/core/database/page.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { type HookProvider, MAX_HOOKS } from '../../../shared/hooks/model.js';
import type { Keyring } from '../../../shared/secrets/keyring.js';
import { newToken } from '../../../shared/secrets/random-token.js';
import { SEALED, sealIn } from '../../../shared/secrets/sealed-columns.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';

/** A row as pg returns it. The migration documents the columns. */
export interface HookRow {
  id: string;
  service_id: string;
  provider: HookProvider;
  sealed_secret: Buffer;
  stack_by: string | null;
  reads_protected: boolean;
  created_at: Date;
  delivered_at: Date | null;
  outcome: string;
}

/** Who makes a hook that applies a stack, and whether this user may change protected environments. */
interface StackRights {
  by: string;
  readsProtected: boolean;
}

/** Creates an incoming webhook. Only this function returns its secret. Throws capacity_exceeded. */
export async function createHook(
  trx: Transaction,
  keyring: Keyring,
  input: { serviceId: string; provider: HookProvider; stack: StackRights | null },
): Promise<{ hook: HookRow; secret: string }> {
  const { count } = (await oneRow<{ count: number }>(trx, 'select count(*) as count from hooks where service_id = ?', [
    input.serviceId,
  ])) ?? { count: 0 };
  if (count >= MAX_HOOKS)
    throw new AppError('capacity_exceeded', `The service has ${MAX_HOOKS} hooks; delete one first`);
  const id = uuidv4();
  const { token: secret } = newToken();
  const [hook] = await trx<HookRow>('hooks')
    .insert({
      id,
      service_id: input.serviceId,
      provider: input.provider,
      sealed_secret: sealIn(keyring, SEALED.hookSecret, id, secret),
      stack_by: input.stack?.by ?? null,
      reads_protected: input.stack?.readsProtected ?? false,
    })
    .returning('*');
  if (!hook) throw new Error('the hook was not stored');
  return { hook, secret };
}

export async function listHooks(db: Db, serviceId: string, page: PageRequest): Promise<Page<HookRow>> {
  return fetchPage(db<HookRow>('hooks as h').where('h.service_id', serviceId).select('h.*'), 'h', page);
}

export async function findHook(db: Db, serviceId: string, id: string): Promise<HookRow | undefined> {
  return db<HookRow>('hooks').where({ id, service_id: serviceId }).first();
}

export async function deleteHook(trx: Transaction, serviceId: string, id: string): Promise<boolean> {
  return (await trx('hooks').where({ id, service_id: serviceId }).delete()) > 0;
}

/** A hook, and the fields of its service against which a delivery is checked. */
export type HookTarget = HookRow & { workspace_id: string; configuration: ServiceConfiguration; archived: boolean };

/** Finds a hook by its id, unless its service is deleted. */
export async function findHookTarget(db: Db, id: string): Promise<HookTarget | null> {
  return oneRow<HookTarget>(
    db,
    `select h.*, s.workspace_id, s.configuration, s.archived from hooks h join services s on s.id = h.service_id
      where h.id = ? and s.deleted_at is null and s.lifecycle_status <> 'deleting'`,
    [id],
  );
}

export async function recordDelivery(db: Db, id: string, outcome: string): Promise<void> {
  await db('hooks').where({ id }).update({ delivered_at: db.fn.now(), outcome });
}
