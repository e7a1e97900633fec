import { connect } from 'node:tls';
import type { Db } from '../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { concurrently } from '../../core/concurrently.js';
import { claimCertificateChecks, recordCertificate } from './certificate-store.js';

/** Every `EVERY_MS` milliseconds, at most `BATCH` domains are checked whose last check was more than an hour ago. */
const EVERY_MS = 60_000;
const BATCH = 20;
const AT_ONCE = 4;
const TIMEOUT_MS = 10_000;
const LOOPBACK = '127.0.0.1';

export interface CertificateWatchOptions {
  db: Db;
  log: Pick<Logger, 'debug'>;
  /** The port on which this host's Caddy serves HTTPS. */
  port: number;
}

/**
 * Records when the certificates of domains expire, if an alert rule watches them. Connects to this host's Caddy and
 * never to the address to which a tenant's domain resolves.
 */
export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Checks the domains that are due. Joins a check that is already running. Never rejects. */
  look(): Promise<void> {
    this.#running ??= this.#look().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #look(): Promise<void> {
    const { db, log, port } = this.#options;
    try {
      await concurrently(await claimCertificateChecks(db, BATCH), AT_ONCE, async ({ id, hostname }) => {
        const until = await validUntil(port, hostname);
        if (until !== null) await recordCertificate(db, id, until);
      });
    } catch (error) {
      log.debug(`certificates were not looked at: ${errorMessage(error)}`);
    }
  }
}

/** Returns when the certificate that Caddy presents for a name expires; null if it presents none. */
function validUntil(port: number, servername: string): Promise<Date | null> {
  return new Promise((resolve) => {
    // Only the expiry matters here, so the certificate need not be trusted.
    const socket = connect({ host: LOOPBACK, port, servername, rejectUnauthorized: false });
    const end = (until: Date | null) => {
      socket.destroy();
      resolve(until);
    };
    socket.setTimeout(TIMEOUT_MS, () => end(null));
    socket.once('error', () => end(null));
    socket.once('secureConnect', () => {
      const until = new Date(socket.getPeerCertificate().valid_to);
      end(Number.isNaN(until.getTime()) ? null : until);
    });
  });
}
