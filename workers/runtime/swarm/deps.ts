import type { Engine } from '../../docker/engine.js';
import type { Registry } from '../../docker/registry.js';
import type { ReplicaRuntimeDeps } from '../deps.js';

/** What the Swarm runtime works with. */
export interface SwarmRuntimeDeps extends ReplicaRuntimeDeps {
  engine: Engine;
  registry: Registry | null;
  /** Marks what is ours in a swarm that others use as well. */
  installation: string;
}
