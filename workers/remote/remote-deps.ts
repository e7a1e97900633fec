import type { ReleaseSpec } from '../runtime/runtime-driver.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import type { JobDeps } from '../worker-deps.js';

export interface RemoteDeps extends Pick<JobDeps, 'db' | 'listener' | 'log' | 'keyring'> {
  hostId: string;
  sandbox: Sandbox;
  loadRelease: (deploymentId: string, runId: string | null) => Promise<ReleaseSpec>;
}
