import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { type AdminApi, uninterrupted } from './admin-api.js';
import { type ConfigPart, withParts } from './config-part.js';

const POLL_INTERVAL_MS = 2_000;
/** This many losses in a row show that another process overwrites the configuration. A restart causes only one loss. */
const FOUGHT_OVER = 3;

/**
 * Reconciles the edge's parts of Caddy's configuration, and changes nothing else in it. If Caddy loses them (after a
 * restart, or because another configuration was loaded), they are written again within seconds. Throws `CaddyError` if
 * the first write fails. Returns a function that ends the checks.
 */
export async function keepConfig(
  api: AdminApi,
  parts: readonly ConfigPart[],
  log: Logger,
): Promise<() => Promise<void>> {
  const ended = new AbortController();
  let [writes, repairs, inRow, away] = [0, 0, 0, false];

  // Writes all parts that are missing or different. Makes one change, because each change costs connections: Caddy
  // opens new sockets for its servers, and the kernel resets connections that the old sockets have not accepted yet.
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
