import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../shared/core/config.js';
import { Listener } from '../../shared/core/database/listener.js';
import { createLogger } from '../../shared/core/log.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { findHostServers } from '../../workers/data/data-kinds.js';
import { DataServices } from '../../workers/data/data-services.js';
import type { DataAccessDeps } from '../../workers/data/server-access.js';
import { ReplicaRuntime } from '../../workers/runtime/replica-runtime.js';
import type { Sandbox } from '../../workers/sandbox/sandbox.js';
import type { Platform } from './platform.js';

/** Builds what a worker's job needs to reach the database servers of the platform. */
export async function dataAccess(platform: Platform): Promise<DataAccessDeps & { close: () => Promise<void> }> {
  const { db, url } = platform.database;
  const log = createLogger('test', 'silent');
  const { DATABASE_URL = url, SECRETS_KEY = '', DATA_DIR = '' } = platform.env;
  const config = loadConfig({ DATABASE_URL, SECRETS_KEY, DATA_DIR });
  const keyring = new Keyring(new Sensitive(SECRETS_KEY));
  const hostId = (await readFile(join(platform.dataDir, 'host-id'), 'utf8')).trim();
  const listener = new Listener(url, log);
  await listener.start();
  const never = () => Promise.reject(new Error('the workers of the platform do that'));
  const runtime = new ReplicaRuntime(
    {
      db,
      listener,
      config,
      log,
      hostId,
      loadRelease: never,
      logs: { append: never },
      checks: { add: () => undefined },
    },
    {
      pollMs: 1000,
      isMeasuredByAll: false,
      controller: () => ({ nextCheckAt: 0, reconcile: never }),
      sweep: never,
      usage: never,
      lastOutput: never,
    },
  );
  const data = new DataServices({
    db,
    config,
    log,
    keyring,
    hostId,
    sandbox: { network: null } as Sandbox,
    toolchains: { restore: async (names) => names.map((name) => join(platform.dataDir, 'toolchains', name)) },
    servers: await findHostServers({ level: 'none' }),
  });
  return { db, config, log, keyring, runtime, data, close: () => listener.close() };
}
