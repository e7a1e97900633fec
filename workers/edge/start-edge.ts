import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../../shared/core/config.js';
import { createDatabase } from '../../shared/core/database/database-client.js';
import { CHANNELS, Listener } from '../../shared/core/database/listener.js';
import { assertMigrated } from '../../shared/core/database/migrate.js';
import type { Logger } from '../../shared/core/log.js';
import type { Lifecycle } from '../../shared/core/process-lifecycle.js';
import { removeEdge } from '../../shared/routing/store.js';
import { ServiceWaker } from '../sleep/service-waker.js';
import { CertificateWatch } from './caddy/certificate-watch.js';
import { recordCanaries } from './canary/canary-counts.js';
import { createEdge } from './create-edge.js';
import { RouteSync } from './route-sync.js';
import { TrafficMeter } from './traffic-meter.js';
import { TrafficReport } from './traffic-report.js';

/**
 * How often the edge stores the counts of canaries, in milliseconds. Before, no worker can notice that a release is
 * bad.
 */
const CANARY_REPORT_MS = 1_000;

/** Composes an edge: loads the routes, serves them, and follows every change. Registers closers with the lifecycle. */
export async function startEdge({
  config,
  log,
  lifecycle,
}: {
  config: Config;
  log: Logger;
  lifecycle: Lifecycle;
}): Promise<void> {
  const url = config.databaseUrl.reveal();
  const db = createDatabase({ url, name: 'ranvier-edge', poolSize: 4, log });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);

  const identity = { id: randomUUID(), host: hostname(), pid: process.pid };
  const traffic = new TrafficMeter();
  const waker = new ServiceWaker(db, log);
  const refresh = (serviceId: string) => sync.reload(serviceId);
  const edge = await createEdge(config, { log, refresh, wake: (serviceId) => waker.wake(serviceId), traffic });
  const report = new TrafficReport({ db, log, meter: traffic, everyMs: config.metricsSeconds * 1000 });
  const canaries = new TrafficReport({
    db,
    log,
    meter: traffic.canaries,
    everyMs: CANARY_REPORT_MS,
    record: recordCanaries,
  });
  const sync = new RouteSync({ db, log, edge, identity, domain: config.edgeDomain });
  const listener = new Listener(url, log);
  listener.on(CHANNELS.route, (serviceId) => sync.wake(serviceId));

  if (config.edgeTls !== null) {
    const certificates = new CertificateWatch({ db, log, port: config.edgeTls.port });
    lifecycle.onEnd('certificates', () => certificates.close());
    certificates.start();
  }
  lifecycle.onEnd('registration', () => removeEdge(db, identity.id));
  lifecycle.onEnd('listener', () => listener.close());
  // Closers run in reverse order: the reports are closed after the edge, when nothing is counted any more.
  lifecycle.onEnd('traffic report', () => report.close());
  lifecycle.onEnd('canary report', () => canaries.close());
  lifecycle.onEnd('routes', () => sync.close());
  lifecycle.onEnd('edge', () => edge.close());

  await listener.start();
  await sync.start();
  report.start();
  canaries.start();
  await edge.listen();
}
