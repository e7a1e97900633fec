import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../../shared/config.js';
import { createDatabase } from '../../../shared/db/client.js';
import { Listener } from '../../../shared/db/listener.js';
import { insertLogBatch } from '../../../shared/db/log-batches.js';
import { createLogger } from '../../../shared/log.js';
import { ReleaseError, type ReleaseSpec } from '../../../workers/runtime/driver.js';
import { createProcessRuntime } from '../../../workers/runtime/process/runtime.js';
import { createSandbox } from '../../../workers/sandbox/create.js';

/** A worker that does nothing but look after its host: the test that forked it kills it. */
const config = loadConfig();
const log = createLogger('test-worker', 'silent');
const url = config.databaseUrl.reveal();
const db = createDatabase({ url, name: 'test-worker' });
const listener = new Listener(url, log);
await listener.start();
const runtime = createProcessRuntime({
  db,
  listener,
  config,
  log,
  hostId: process.env.HOST_ID ?? '',
  sandbox: await createSandbox({ log, dataDir: config.dataDir }),
  loadRelease: async (deploymentId) => {
    const specs: ReleaseSpec[] = JSON.parse(await readFile(join(config.dataDir, 'specs.json'), 'utf8'));
    const spec = specs.find((candidate) => candidate.deploymentId === deploymentId);
    if (!spec) throw new ReleaseError(`no release ${deploymentId}`);
    return spec;
  },
  logs: {
    append: async (batch, trx) => {
      await insertLogBatch(trx, batch);
    },
  },
});
await runtime.start();
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
