import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';
import { hasRedis } from '../support/redis.js';
import { benchDeploy } from './deploy.bench.js';

/** `npm run bench`: each line is a ratio against a bare reference measured in the same run. */
await mochaGlobalSetup();
try {
  await benchDeploy('postgres');
  if (hasRedis) await benchDeploy('redis');
  else process.stdout.write('deploy on redis: SKIPPED, redis-server is not installed\n');
} finally {
  await mochaGlobalTeardown();
}
