import { connect } from 'node:net';
import { errorMessage } from '../core/error-registry.js';

const TIMEOUT_MS = 5_000;

/** Throws an error that says what to do if Caddy's admin API is not listening. */
export async function assertCaddyListens(adminUrl: string): Promise<void> {
  const { protocol, hostname, port, pathname } = new URL(adminUrl);
  const place = protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port || 80) };
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ ...place, timeout: TIMEOUT_MS });
      socket.once('connect', () => {
        socket.destroy();
        resolve();
      });
      socket.once('timeout', () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
      socket.once('error', reject);
    });
  } catch (error) {
    throw new Error(
      `EDGE=caddy needs a Caddy on this host, whose admin API does not answer at ${adminUrl} (${errorMessage(error)}): start Caddy, or set CADDY_ADMIN_URL to where its admin API listens (best a Unix socket), or leave EDGE unset. Caddy listens on EDGE_PORT itself`,
    );
  }
}
