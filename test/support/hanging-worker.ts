import { createDatabase } from '../../shared/core/database/database-client.js';
import { Listener } from '../../shared/core/database/listener.js';
import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { createEngine } from '../../shared/queues/queue-engine.js';
import { LeaseKeeper } from '../../workers/engine/lease-keeper.js';
import { WorkerPool } from '../../workers/engine/worker-pool.js';
import type { JobDeps } from '../../workers/worker-deps.js';
import { scriptedHandlers } from './scripted-handlers.js';

/** A worker that starts every job and finishes none: `hanging-worker.js <database> <redis or empty>`. */
const [, , url = '', redisUrl = ''] = process.argv;
const log = createLogger('hanging-worker', 'silent');
const db = createDatabase({ url, name: 'hanging-worker' });
const listener = new Listener(url, log);
await listener.start();
const engine = await createEngine(
  { databaseUrl: new Sensitive(url), redisUrl: redisUrl === '' ? null : new Sensitive(redisUrl) },
  log,
  'hanging-worker',
);
const deps = { db, leases: new LeaseKeeper(db, listener, log), workerId: crypto.randomUUID() } as JobDeps;
const handlers = scriptedHandlers(async (id) => {
  process.stdout.write(`${id}\n`);
  await new Promise(() => undefined);
});
new WorkerPool(deps, engine, log, {}, handlers);
