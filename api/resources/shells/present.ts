import type { Config } from '../../../shared/core/config.js';
import type { RemoteSessionRow } from '../../../shared/remote/store.js';

/** Presents the URL at which a client opens a session. `path` is the WebSocket's path and contains the ticket. */
export function presentOpening(
  { id, expires_at }: Pick<RemoteSessionRow, 'id' | 'expires_at'>,
  { publicUrl }: Pick<Config, 'publicUrl'>,
  path: string,
): { id: string; address: string; expiresAt: string } {
  return { id, address: publicUrl.replace(/^http/, 'ws') + path, expiresAt: expires_at.toISOString() };
}
