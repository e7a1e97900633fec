import { v4 as uuidv4 } from 'uuid';
import { type Db, oneRow, type Transaction } from '../../../shared/core/database/database-client.js';
import { fetchPage, type Page, type PageRequest } from '../../../shared/core/database/page.js';
import { AppError } from '../../../shared/core/error-registry.js';
import { type HookProvider, MAX_HOOKS } from '../../../shared/hooks/model.js';
import type { Keyring } from '../../../shared/secrets/keyring.js';
import { newToken } from '../../../shared/secrets/random-token.js';
import { SEALED, sealIn } from '../../../shared/secrets/sealed-columns.js';
import type { ServiceConfiguration } from '../../../shared/services/configuration.js';

interface HookRow {
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

/** A hook, and the git host to which it reports deployments. These fields are null if it reports to no git host. */
export type ShownHook = HookRow & {
  api_url: string | null;
  project: string | null;
  sent_at: Date | null;
  report_error: string | null;
};

/** SQL: the error of the last failed report to the git host `t`; null if a later report of the same kind was sent. */
const REPORT_ERROR = `(select r.error from (
    select distinct on (kind) error, updated_at from forge_reports where hook_id = t.id and (error <> '' or sent is not null)
     order by kind, updated_at desc) r where r.error <> '' order by r.updated_at desc limit 1)`;

function shownHooks(db: Db, serviceId: string) {
  return db<ShownHook>('hooks as h')
    .leftJoin('forge_targets as t', 't.id', 'h.id')
    .where('h.service_id', serviceId)
    .select('h.*', 't.api_url', 't.project', 't.sent_at', db.raw(`${REPORT_ERROR} as report_error`));
}

/**
 * The user who creates a hook that applies a stack, and whether this user may read and change protected environments.
 */
interface StackRights {
  by: string;
  readsProtected: boolean;
}

/**
 * Creates an incoming webhook. Only this function returns its secret. Throws capacity_exceeded if there are too many
 * hooks.
 */
export async function createHook(
  trx: Transaction,
  keyring: Keyring,
  input: { serviceId: string; provider: HookProvider; stack: StackRights | null },
): Promise<{ id: string; secret: string }> {
  const { count } = (await oneRow<{ count: number }>(trx, 'select count(*) as count from hooks where service_id = ?', [
    input.serviceId,
  ])) ?? { count: 0 };
  if (count >= MAX_HOOKS)
    throw new AppError('capacity_exceeded', `The service has ${MAX_HOOKS} hooks; delete one first`);
  const id = uuidv4();
  const { token: secret } = newToken();
  await trx<HookRow>('hooks').insert({
    id,
    service_id: input.serviceId,
    provider: input.provider,
    sealed_secret: sealIn(keyring, SEALED.hookSecret, id, secret),
    stack_by: input.stack?.by ?? null,
    reads_protected: input.stack?.readsProtected ?? false,
  });
  return { id, secret };
}

export async function listHooks(db: Db, serviceId: string, page: PageRequest): Promise<Page<ShownHook>> {
  return fetchPage<ShownHook>(shownHooks(db, serviceId) as never, 'h', page);
}

export async function findHook(db: Db, serviceId: string, id: string): Promise<ShownHook | undefined> {
  return shownHooks(db, serviceId).where('h.id', id).first() as never;
}

export async function deleteHook(trx: Transaction, serviceId: string, id: string): Promise<boolean> {
  return (await trx('hooks').where({ id, service_id: serviceId }).delete()) > 0;
}

export type HookTarget = HookRow & { workspace_id: string; configuration: ServiceConfiguration; archived: boolean };

/** Returns a hook by its id; null if there is none or its service is deleted. */
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
