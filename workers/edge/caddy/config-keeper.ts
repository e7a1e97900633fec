import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { type AdminApi, uninterrupted } from './admin-api.js';
import { type ConfigPart, withParts } from './config-part.js';

const POLL_INTERVAL_MS = 2_000;
/**
 * If the edge's parts are missing from Caddy's configuration at this many checks in a row, another process must be
 * overwriting it. After a restart of Caddy, they are missing at one check only.
 */
const FOUGHT_OVER = 3;

/** Keeps the edge's parts in Caddy's configuration until the returned function is called. Throws `CaddyError`. */
export async function keepConfig(
  api: AdminApi,
  parts: readonly ConfigPart[],
  log: Logger,
): Promise<() => Promise<void>> {
  const ended = new AbortController();
  let [writes, repairs, inRow, away] = [0, 0, 0, false];

  // Makes one change for all parts, because each change costs connections: Caddy opens new sockets, and the kernel
  // resets connections that the old sockets have not accepted yet.
  const ensure = async () => {
    const { value, etag } = await api.config();
    const wanted = withParts(value, parts);
    if (isDeepStrictEqual(value, wanted)) return;
    writes += 1;
    await api.replaceConfig(wanted, etag);
  };

  const check = async () => {
    const before = writes;
    await uninterrupted(ensure);
    if (away) log.info('Caddy answers again');
    away = false;
    inRow = writes === before ? 0 : inRow + 1;
    if (inRow === 0) return;
    repairs += 1;
    if (inRow === FOUGHT_OVER) {
      log.error(
        'somebody else keeps writing over this configuration: does another edge process use the same Caddy? Give each one of its own (CADDY_ADMIN_URL)',
      );
    }
    log.warn({ repairs }, 'Caddy had lost the configuration of the edge; it is loaded again');
  };

  const keep = async () => {
    for (;;) {
      await delay(POLL_INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined);
      if (ended.signal.aborted) return;
      await check().catch((error: unknown) => {
        if (!away) log.error(`the edge cannot see to Caddy's configuration: ${errorMessage(error)}`);
        away = true;
      });
    }
  };

  await uninterrupted(ensure);
  const kept = keep();
  return async () => {
    ended.abort();
    await kept;
  };
}
