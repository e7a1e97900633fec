import '../../core/node-version.js';
import { loadDatabaseSettings } from '../../core/config.js';
import { errorMessage } from '../../core/error-registry.js';
import { createLogger } from '../../core/log.js';
import { Lifecycle } from '../../core/process-lifecycle.js';
import { startPostgres } from '../../launcher/postgres.js';

/** Runs the embedded PostgreSQL of DATA_DIR, so that the platform's other processes can be restarted independently. */
const log = createLogger('postgres', 'info');
const lifecycle = new Lifecycle(log, (code) => process.exit(code));
lifecycle.watchSignals();
try {
  const { dataDir } = loadDatabaseSettings();
  const onGone = (error: Error) => {
    log.fatal(error.message);
    void lifecycle.end('PostgreSQL has ended', 1);
  };
  const postgres = await startPostgres({ dataDir, log, onGone });
  lifecycle.onEnd('PostgreSQL', () => postgres.stop());
  log.info('PostgreSQL accepts connections');
} catch (error) {
  log.fatal(errorMessage(error));
  process.exit(1);
}
