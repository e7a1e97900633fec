import type { Db } from '../../shared/core/database/database-client.js';
import type { Listener } from '../../shared/core/database/listener.js';
import type { Logger } from '../../shared/core/log.js';
import type { Keyring } from '../../shared/secrets/keyring.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { Sandbox } from '../sandbox/sandbox.js';

/** A worker's dependencies for shells and tunnels. */
export interface RemoteDeps {
  db: Db;
  listener: Listener;
  log: Logger;
  hostId: string;
  keyring: Keyring;
  sandbox: Sandbox;
  loadRelease: (deploymentId: string, runId: string | null) => Promise<ReleaseSpec>;
}
