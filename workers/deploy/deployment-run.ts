import type { ActiveState, DeploymentEvent } from '../../shared/deployments/model.js';
import type { DeployedService } from '../../shared/deployments/parts-store.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { applyEvent, type NextFacts } from '../../shared/deployments/transitions.js';
import type { Lease } from '../../shared/engine/leases.js';
import type { BuiltImage } from '../../shared/images/model.js';
import type { LogLevel } from '../../shared/logs/model.js';
import type { LogChannel } from '../log-sink.js';
import type { JobDeps } from '../worker-deps.js';

/** One worker's run of one deployment. Its steps share this. */
export class DeploymentRun {
  readonly deps: JobDeps;
  readonly service: DeployedService;
  readonly variables: Record<string, string>;
  readonly signal: AbortSignal;
  readonly channel: LogChannel;
  #deployment: DeploymentRow;
  #facts: NextFacts | null = null;
  #image: BuiltImage | null = null;

  constructor(init: {
    deps: JobDeps;
    deployment: DeploymentRow;
    service: DeployedService;
    variables: Record<string, string>;
    signal: AbortSignal;
    channel: LogChannel;
  }) {
    this.deps = init.deps;
    this.service = init.service;
    this.variables = init.variables;
    this.signal = init.signal;
    this.channel = init.channel;
    this.#deployment = init.deployment;
  }

  get deployment(): DeploymentRow {
    return this.#deployment;
  }

  /** What the last transition of this run has told; null before it. */
  get facts(): NextFacts | null {
    return this.#facts;
  }

  /** The image that this run has built; null if it has built none. */
  get image(): BuiltImage | null {
    return this.#image;
  }

  get lease(): Lease {
    return { id: this.#deployment.id, fence: this.#deployment.fence };
  }

  /** Applies an event; false if `applyEvent` changed nothing. */
  async apply(from: ActiveState, event: DeploymentEvent): Promise<boolean> {
    const row = await applyEvent(this.deps.db, this.lease, from, event);
    if (row === undefined) return false;
    const { edges, left_behind, ...moved } = row;
    this.#deployment = { ...this.#deployment, ...moved };
    this.#facts = { edges, left_behind };
    if (event.type === 'built') this.#image = event.image;
    return true;
  }

  /** Writes a line of the platform to the deployment's log. */
  async say(message: string, level: LogLevel = 'info'): Promise<void> {
    await this.channel.write('system', message, level);
  }
}
