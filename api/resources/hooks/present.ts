import type { Config } from '../../../shared/core/config.js';
import { hookPath } from '../../../shared/hooks/model.js';
import type { HookView } from './schema.js';
import type { ShownHook } from './store.js';

/**
 * Presents an incoming webhook without its secret and token. For a deploy hook, `url` lacks the secret key that a call
 * needs.
 */
export function presentHook(row: ShownHook, { publicUrl }: Pick<Config, 'publicUrl'>): HookView {
  return {
    id: row.id,
    url: publicUrl + hookPath(row.id),
    provider: row.provider,
    stack: row.stack_by !== null,
    createdAt: row.created_at.toISOString(),
    lastDeliveryAt: row.delivered_at?.toISOString() ?? null,
    lastOutcome: row.outcome,
    hasToken: row.api_url !== null,
    reports:
      row.api_url === null
        ? null
        : {
            apiUrl: row.api_url,
            project: row.project ?? '',
            lastSentAt: row.sent_at?.toISOString() ?? null,
            lastError: row.report_error ?? '',
          },
  };
}
