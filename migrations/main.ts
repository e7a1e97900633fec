import '../shared/core/node-version.js';
import { loadConfig } from '../shared/core/config.js';
import { createDatabase } from '../shared/core/database/database-client.js';
import { migrate } from '../shared/core/database/migrate.js';
import { errorMessage } from '../shared/core/error-registry.js';
import { createLogger } from '../shared/core/log.js';
import { migrateQueues } from '../shared/queues/bull-pool.js';

/** `npm run migrate`: brings our schema, and that of the queues where they run on PostgreSQL, to this version. */
const log = createLogger('migrate', 'info');
try {
  const config = loadConfig();
  const url = config.databaseUrl.reveal();
  const db = createDatabase({ url, name: 'ranvier-migrate', poolSize: 2, idleInTransactionMs: 0 });
  try {
    const applied = await migrate(db, url);
    if (config.redisUrl === null) await migrateQueues(url);
    log.info({ applied }, applied.length > 0 ? `applied ${applied.length} migrations` : 'the database is up to date');
  } finally {
    await db.destroy();
  }
} catch (error) {
  log.fatal(errorMessage(error));
  process.exit(1);
}
