import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../shared/core/config.js';
import { createLogger } from '../../shared/core/log.js';
import { Lifecycle } from '../../shared/core/process-lifecycle.js';
import { FaultWatch } from '../../workers/deploy/fault-watch.js';
import { startEdge } from '../../workers/edge/start-edge.js';
import { startWorker } from '../../workers/start-worker.js';
import { type FleetLoad, openIdleHost } from './fleet-host.js';

/** Many workers or edges: `fleet-process.js worker|edge <first> <count> <lines>`. SIGUSR2 switches their log lines. */
const [, , what = '', first = '', count = '', lines = '0'] = process.argv;
const STARTING_AT_ONCE = 8;
const log = createLogger(`fleet-${what}`, 'warn');
// The embedded libraries add a listener for each object.
process.setMaxListeners(0);

const base = process.env.DATA_DIR ?? '';
const load: FleetLoad = { lines: Number(lines), printing: false };
process.on('SIGUSR2', () => {
  load.printing = !load.printing;
});
process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
// The bench may be killed without ending this process.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(1), 1000);
const faults = new FaultWatch(base);
await faults.start();

async function startOne(number: number): Promise<void> {
  const dataDir = join(base, `${what}-${number}`);
  await mkdir(dataDir, { recursive: true });
  const edgePort = Number(process.env.EDGE_PORT) + number;
  const config = loadConfig({ ...process.env, DATA_DIR: dataDir, EDGE_PORT: String(edgePort) });
  const lifecycle = new Lifecycle(log, () => undefined);
  if (what === 'edge') await startEdge(config, log, lifecycle);
  else await startWorker({ config, log, lifecycle }, async (core) => openIdleHost(core, faults, load));
}

const numbers = Array.from({ length: Number(count) }, (_, i) => Number(first) + i);
await Promise.all(
  Array.from({ length: STARTING_AT_ONCE }, async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) await startOne(number);
  }),
);
process.stdout.write('ready\n');
