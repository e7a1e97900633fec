import { connect } from 'node:tls';
import { type Db, rowsOf } from '../../../shared/core/database/database-client.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import type { Logger } from '../../../shared/core/log.js';
import { concurrently } from '../../core/concurrently.js';

/** At each interval, the edge checks at most `BATCH` of the domains that were not checked for an hour. */
const EVERY_MS = 60_000;
const BATCH = 20;
const AT_ONCE = 4;
const TIMEOUT_MS = 10_000;
const LOOPBACK = '127.0.0.1';

export interface CertificateWatchOptions {
  db: Db;
  log: Pick<Logger, 'debug'>;
  port: number;
}

/** Checks certificates on a timer. Returns a function that stops the timer. */
export function watchCertificates(options: CertificateWatchOptions): () => Promise<void> {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= checkCertificates(options).finally(() => {
      running = null;
    });
  }, EVERY_MS);
  return async () => {
    clearInterval(timer);
    await running;
  };
}

/** Records when certificates expire. Connects to this host's Caddy, never to a tenant's address. Never rejects. */
export async function checkCertificates({ db, log, port }: CertificateWatchOptions): Promise<void> {
  try {
    await concurrently(await claimChecks(db), AT_ONCE, async ({ id, hostname }) => {
      const until = await validUntil(port, hostname);
      if (until !== null) await db('domains').where({ id }).update({ certificate_until: until });
    });
  } catch (error) {
    log.debug(`certificates were not looked at: ${errorMessage(error)}`);
  }
}

function claimChecks(db: Db): Promise<{ id: string; hostname: string }[]> {
  return rowsOf(
    db,
    `with due as (
       select d.id from domains d
        where d.status = 'active' and d.leads_here and d.released_at is null
          and (d.certificate_checked_at is null or d.certificate_checked_at < now() - interval '1 hour')
          and exists (select from alert_rules r where r.metric = 'certificate' and r.workspace_id = d.workspace_id
                         and (r.service_id is null or r.service_id = d.service_id))
        order by d.certificate_checked_at nulls first limit ${BATCH} for update of d skip locked
     )
     update domains d set certificate_checked_at = now() from due where d.id = due.id returning d.id, d.hostname`,
  );
}

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
