import '../../shared/core/node-version.js';
import { loadConfig } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { createLogger } from '../../shared/core/log.js';
import { Lifecycle } from '../../shared/core/process-lifecycle.js';
import { mapStackTraces } from '../../shared/core/stack-traces.js';
import { containUncaught } from './proxy/containment.js';
import { startEdge } from './start-edge.js';

mapStackTraces();
const bootLog = createLogger('edge', 'info');
try {
  const config = loadConfig();
  const log = createLogger('edge', config.logLevel);
  const lifecycle = new Lifecycle(log, (code) => process.exit(code));
  lifecycle.watchSignals(containUncaught);
  await startEdge(config, log, lifecycle);
  log.info({ edge: config.edge, port: config.edgePort, domain: config.edgeDomain }, 'the edge is listening');
} catch (error) {
  bootLog.fatal(errorMessage(error));
  process.exit(1);
}
