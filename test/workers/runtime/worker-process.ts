import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../../shared/core/config.js';
import { createDatabase } from '../../../shared/core/database/database-client.js';
import { Listener } from '../../../shared/core/database/listener.js';
import { createLogger } from '../../../shared/core/log.js';
import { createToolchains } from '../../../workers/builders/toolchains/toolchain-store.js';
import { ReleaseError } from '../../../workers/failures/explained-errors.js';
import { insertLogBatches } from '../../../workers/logs/batch-store.js';
import { CheckRecorder } from '../../../workers/runtime/check-recorder.js';
import { createProcessRuntime } from '../../../workers/runtime/process/process-host.js';
import type { ReleaseSpec } from '../../../workers/runtime/runtime-driver.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';

/** A worker that only reconciles the replicas of its host. The test that forks it kills it. */
const config = loadConfig();
const log = createLogger('test-worker', 'silent');
const url = config.databaseUrl.reveal();
const db = createDatabase({ url, name: 'test-worker' });
const listener = new Listener(url, log);
await listener.start();
const runtime = createProcessRuntime({
  db,
  checks: new CheckRecorder(db, log),
  listener,
  config,
  log,
  hostId: process.env.HOST_ID ?? '',
  sandbox: await createSandbox({ log, dataDir: config.dataDir }),
  toolchains: createToolchains({ ...config, log }),
  loadRelease: async (deploymentId) => {
    const specs: ReleaseSpec[] = JSON.parse(await readFile(join(config.dataDir, 'specs.json'), 'utf8'));
    const spec = specs.find((candidate) => candidate.deploymentId === deploymentId);
    if (!spec) throw new ReleaseError(`no release ${deploymentId}`);
    return spec;
  },
  logs: {
    append: async (batch, trx) => {
      await insertLogBatches(trx, [batch]);
    },
  },
});
await runtime.start();
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
