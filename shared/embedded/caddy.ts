import { errorMessage } from '../errors.js';

const TIMEOUT_MS = 5_000;

/** Throws an error that says what to do, where the Caddy that `EDGE=caddy` serves through does not answer. */
export async function assertCaddyAnswers(adminUrl: string): Promise<void> {
  try {
    const response = await fetch(new URL('/config/', adminUrl), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  } catch (error) {
    throw new Error(
      `EDGE=caddy needs a Caddy on this host, whose admin API does not answer at ${adminUrl} (${errorMessage(error)}): start Caddy, or set CADDY_ADMIN_URL to where its admin API listens, or leave EDGE unset. Caddy listens on EDGE_PORT itself`,
    );
  }
}
