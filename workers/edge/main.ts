import '../../shared/core/node-version.js';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { loadConfig } from '../../shared/core/config.js';
import { createDatabase } from '../../shared/core/database/database-client.js';
import { CHANNELS, Listener } from '../../shared/core/database/listener.js';
import { assertMigrated } from '../../shared/core/database/migrate.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { createLogger } from '../../shared/core/log.js';
import { Lifecycle } from '../../shared/core/process-lifecycle.js';
import { mapStackTraces } from '../../shared/core/stack-traces.js';
import { removeEdge } from '../../shared/routing/store.js';
import { createEdge } from './create-edge.js';
import { containUncaught } from './proxy/containment.js';
import { RouteSync } from './route-sync.js';
import { TrafficMeter } from './traffic-meter.js';
import { TrafficReport } from './traffic-report.js';

/** The edge's process: loads the routes, serves them, and follows every change until it is told to end. */
mapStackTraces();
const bootLog = createLogger('edge', 'info');
try {
  const config = loadConfig();
  const log = createLogger('edge', config.logLevel);
  const lifecycle = new Lifecycle(log, (code) => process.exit(code));
  lifecycle.watchSignals(containUncaught);

  const url = config.databaseUrl.reveal();
  const db = createDatabase({ url, name: 'ranvier-edge', poolSize: 4, log });
  lifecycle.onEnd('database', () => db.destroy());
  await assertMigrated(db);

  const identity = { id: randomUUID(), host: hostname(), pid: process.pid };
  const traffic = new TrafficMeter();
  const edge = await createEdge(config, { log, refresh: (serviceId) => sync.reload(serviceId), traffic });
  const report = new TrafficReport({ db, log, meter: traffic, everyMs: config.metricsSeconds * 1000 });
  const sync = new RouteSync({ db, log, edge, identity, domain: config.edgeDomain });
  const listener = new Listener(url, log);
  listener.on(CHANNELS.route, (serviceId) => sync.wake(serviceId));

  lifecycle.onEnd('registration', () => removeEdge(db, identity.id));
  lifecycle.onEnd('listener', () => listener.close());
  // Closed after the edge, because nothing is counted afterwards.
  lifecycle.onEnd('traffic report', () => report.close());
  lifecycle.onEnd('routes', () => sync.close());
  lifecycle.onEnd('edge', () => edge.close());

  await listener.start();
  await sync.start();
  report.start();
  await edge.listen();
  log.info({ edge: config.edge, port: config.edgePort, domain: config.edgeDomain }, 'the edge is listening');
} catch (error) {
  bootLog.fatal(errorMessage(error));
  process.exit(1);
}
