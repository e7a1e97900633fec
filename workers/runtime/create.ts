import type { RuntimeDriver } from './driver.js';
import type { ProcessRuntimeDeps } from './process/deps.js';
import { createProcessRuntime } from './process/runtime.js';
import { createSwarmRuntime } from './swarm/runtime.js';

/** The runtime that `RUNTIME` names. Throws an error for people where it cannot work here. */
export async function createRuntime(deps: ProcessRuntimeDeps): Promise<RuntimeDriver> {
  switch (deps.config.runtime) {
    case 'process':
      return createProcessRuntime(deps);
    case 'swarm':
      return createSwarmRuntime(deps);
  }
}
