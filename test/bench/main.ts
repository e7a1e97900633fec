import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';
import { hasRedis } from '../support/redis.js';
import { benchApi } from './api.bench.js';
import { benchDeploy } from './deploy.bench.js';
import { benchLogs } from './logs.bench.js';
import { benchOverload } from './overload.bench.js';

const BENCHES = { api: benchApi, deploy: benchDeploy, logs: benchLogs, overload: benchOverload };

/** `npm run bench [-- api|deploy|logs|overload [postgres|redis]]`: each line is a ratio against a bare reference measured in the same run. */
const [chosen, engines] = process.argv.slice(2);
await mochaGlobalSetup();
try {
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (chosen !== undefined && chosen !== name) continue;
    for (const engine of ['postgres', 'redis'] as const) {
      if (engines !== undefined && engines !== engine) continue;
      if (engine === 'redis' && !hasRedis) {
        process.stdout.write(`${name} on redis: SKIPPED, redis-server is not installed\n`);
        continue;
      }
      process.stdout.write(`${name}, queues on ${engine}\n`);
      await bench(engine);
    }
  }
} finally {
  await mochaGlobalTeardown();
}
