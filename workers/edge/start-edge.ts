import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../shared/core/config.js';
import { assertSessions } from '../../shared/core/database/assert-sessions.js';
import { createDatabase } from '../../shared/core/database/database-client.js';
import { CHANNELS, Listener } from '../../shared/core/database/listener.js';
import { assertMigrated } from '../../shared/core/database/migrate.js';
import type { Logger } from '../../shared/core/log.js';
import type { Lifecycle } from '../../shared/core/process-lifecycle.js';
import { removeEdge } from '../../shared/routing/store.js';
import { serviceWaker } from '../sleep/service-waker.js';
import { watchCertificates } from './caddy/certificate-watch.js';
import type { Edge } from './edge.js';
import { NodeEdge, type NodeEdgeOptions } from './proxy/node-edge.js';
import { RouteSync } from './route-sync.js';
import { TrafficMeter } from './traffic-meter.js';
import { reportTraffic } from './traffic-report.js';
import { recordCanaries, recordTraffic } from './traffic-store.js';

/** Until an edge has stored the counts of a canary, no worker notices a bad release. */
const CANARY_REPORT_MS = 1_000;

/** Starts an edge: loads the routes, serves them, and follows every change. */
export async function startEdge(config: Config, log: Logger, lifecycle: Lifecycle): Promise<void> {
  const url = config.databaseUrl.reveal();
  await assertSessions(url);
  const db = createDatabase({ url, name: 'ranvier-edge', poolSize: 4, log });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);

  const identity = { id: randomUUID(), host: hostname(), pid: process.pid };
  const traffic = new TrafficMeter();
  const refresh = (serviceId: string) => sync.reload(serviceId);
  const edge = await createEdge(config, { log, refresh, wake: serviceWaker(db, log), traffic });
  const sync = new RouteSync({ db, log, edge, identity, domain: config.edgeDomain });
  const listener = new Listener(url, log);
  listener.on(CHANNELS.route, (serviceId) => sync.wake(serviceId));

  if (config.edgeTls !== null) {
    lifecycle.onEnd('certificates', watchCertificates({ db, log, port: config.edgeTls.port }));
  }
  lifecycle.onEnd('registration', () => removeEdge(db, identity.id));
  lifecycle.onEnd('listener', () => listener.close());
  // Closers run in reverse order: the reports are closed after the edge, when nothing is counted any more.
  const ofServices = { meter: traffic, everyMs: config.metricsSeconds * 1000, record: recordTraffic };
  lifecycle.onEnd('traffic report', reportTraffic({ db, log, ...ofServices }));
  const ofCanaries = { meter: traffic.canaries, everyMs: CANARY_REPORT_MS, record: recordCanaries };
  lifecycle.onEnd('canary report', reportTraffic({ db, log, ...ofCanaries }));
  lifecycle.onEnd('routes', () => sync.close());
  lifecycle.onEnd('edge', () => edge.close());

  await listener.start();
  await sync.start();
  await edge.listen();
}

async function createEdge(
  config: Config,
  parts: Pick<NodeEdgeOptions, 'log' | 'refresh' | 'wake' | 'traffic'>,
): Promise<Edge> {
  const { edgePort: port, edgeDomain: domain, edgeTls: tls, edgeLimits: limits, listenDescriptor: descriptor } = config;
  const common = { ...parts, port, limits, imagesDir: join(config.dataDir, 'images') };
  if (config.edge === 'node') return new NodeEdge({ ...common, descriptor });
  const { caddyAdminUrl: adminUrl, edgeSocketDir: socketDir } = config;
  const { CaddyEdge } = await import('./caddy/caddy-edge.js');
  return new CaddyEdge({ ...common, domain, adminUrl, socketDir, tls });
}
