import { mochaGlobalTeardown, startTestPostgres } from '../support/postgres.js';
import { hasRedis } from '../support/redis.js';
import { benchAdmission } from './admission.bench.js';
import { benchApi } from './api.bench.js';
import { benchDeploy } from './deploy.bench.js';
import { benchEdge } from './edge.bench.js';
import { benchEngine } from './engine.bench.js';
import { benchFleet } from './fleet.bench.js';
import { benchImages } from './images.bench.js';
import { benchLanguages } from './languages.bench.js';
import { benchLogs } from './logs.bench.js';
import { benchMetrics } from './metrics.bench.js';
import { benchMonth } from './month.bench.js';
import { benchNetwork } from './network.bench.js';
import { benchOverload } from './overload.bench.js';
import { benchScale } from './scale.bench.js';
import { benchShells } from './shells.bench.js';
import { benchStacks } from './stacks.bench.js';
import { noteLogLine } from './statements.js';
import { printTable, recordFor } from './table.js';
import { benchVolumes } from './volumes.bench.js';
import { benchYear } from './year.bench.js';

const BENCHES = {
  admission: benchAdmission,
  api: benchApi,
  deploy: benchDeploy,
  edge: benchEdge,
  engine: benchEngine,
  fleet: benchFleet,
  images: benchImages,
  languages: benchLanguages,
  logs: benchLogs,
  metrics: benchMetrics,
  month: benchMonth,
  network: benchNetwork,
  overload: benchOverload,
  scale: benchScale,
  shells: benchShells,
  stacks: benchStacks,
  volumes: benchVolumes,
  year: benchYear,
};

const WITHOUT_QUEUES = new Set(['admission', 'logs', 'month', 'year']);
/** Benches that take gigabytes of disk, which only run by name. */
const BY_NAME = new Set(['year']);

/** Runs one bench. If it fails, the error is printed and the run continues. */
async function part(name: string, bench: () => Promise<void>): Promise<void> {
  const begun = performance.now();
  try {
    await bench();
    process.stdout.write(`  (${((performance.now() - begun) / 60_000).toFixed(1)} min)\n`);
  } catch (error) {
    // The other benches and the table are still useful, because a run takes long.
    process.exitCode = 1;
    process.stdout.write(`  FAILED: ${name}: ${(error as Error).stack}\n`);
  }
}

const isFlag = (word: string | undefined): boolean => word?.startsWith('--') ?? false;

/** `npm run bench [-- <bench> [<engine>]]`; `fleet` takes flags: `npm run bench -- fleet postgres --workers 10,100`. */
const [chosen, chosenEngine] = process.argv.slice(2).filter((word, i, all) => ![word, all[i - 1]].some(isFlag));
if (chosen !== undefined && !Object.hasOwn(BENCHES, chosen))
  throw new Error(`there is no part ${chosen}: ${Object.keys(BENCHES).join(', ')}`);
if (chosenEngine !== undefined && !['postgres', 'redis'].includes(chosenEngine))
  throw new Error(`${chosenEngine} is no engine`);
// A worker of the fleet holds six to ten connections.
const maxConnections = chosen === 'fleet' ? 8000 : 800;
// Without durability the data is in memory, which the bench "year" would fill.
const durable = chosen !== undefined && BY_NAME.has(chosen);
await startTestPostgres({ durable, onLine: noteLogLine, maxConnections });
try {
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (chosen === undefined ? BY_NAME.has(name) : chosen !== name) continue;
    for (const engine of ['postgres', 'redis'] as const) {
      if (engine === 'redis' && WITHOUT_QUEUES.has(name)) continue;
      if (chosenEngine !== undefined && chosenEngine !== engine) continue;
      if (engine === 'redis' && !hasRedis) {
        process.stdout.write(`${name} on redis: SKIPPED, redis-server is not installed\n`);
        continue;
      }
      process.stdout.write(`${name}, queues on ${engine}\n`);
      recordFor(engine);
      await part(name, () => bench(engine));
    }
  }
  printTable();
} finally {
  await mochaGlobalTeardown();
}
