import type { Config } from '../../../shared/core/config.js';
import { hookPath } from '../../../shared/hooks/model.js';
import type { HookView } from './schema.js';
import type { HookRow } from './store.js';

/** Presents an incoming webhook without its secret, so that `url` alone calls no deploy hook. */
export function presentHook(row: HookRow, { publicUrl }: Pick<Config, 'publicUrl'>): HookView {
  return {
    id: row.id,
    url: publicUrl + hookPath(row.id),
    provider: row.provider,
    stack: row.stack_by !== null,
    createdAt: row.created_at.toISOString(),
    lastDeliveryAt: row.delivered_at?.toISOString() ?? null,
    lastOutcome: row.outcome,
  };
}
