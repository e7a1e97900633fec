import '../shared/core/node-version.js';
import { loadConfig } from '../shared/core/config.js';
import { errorMessage } from '../shared/core/error-registry.js';
import { IdleMemory } from '../shared/core/idle-memory.js';
import { createLogger } from '../shared/core/log.js';
import { Lifecycle } from '../shared/core/process-lifecycle.js';
import { mapStackTraces } from '../shared/core/stack-traces.js';
import { type OpenedHost, openHost } from './open-host.js';
import { startWorker } from './start-worker.js';

/** This program runs jobs of all queues until a signal ends it. It then hands its jobs over to other workers. */
mapStackTraces();
const bootLog = createLogger('worker', 'info');
try {
  const config = loadConfig();
  const log = createLogger('worker', config.logLevel);
  const lifecycle = new Lifecycle(log, (code) => process.exit(code));
  lifecycle.watchSignals();
  let sandbox: OpenedHost['sandbox'] | undefined;
  const { workerId, backend, running } = await startWorker({ config, log, lifecycle }, async (core) => {
    const { sandbox: opened, ...host } = await openHost(core);
    sandbox = opened;
    return host;
  });
  const idleMemory = new IdleMemory(running);
  lifecycle.onEnd('idle memory', () => idleMemory.close());
  idleMemory.start();
  log.info(
    { workerId, engine: backend, sandbox: sandbox?.level, network: sandbox?.network?.level ?? 'shared' },
    'the worker is ready',
  );
} catch (error) {
  bootLog.fatal(errorMessage(error));
  process.exit(1);
}
