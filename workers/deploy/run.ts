import type { Db } from '../../shared/db/client.js';
import { advanceDeployment, type Claim, type StepChange } from '../../shared/db/deployments.js';
import type { DeploymentRow, ServiceRow } from '../../shared/db/rows.js';
import type { LogLevel } from '../../shared/domain/log.js';
import { Interrupted } from '../interrupted.js';
import type { LogChannel } from '../log-sink.js';
import type { WorkshopDeps } from './deps.js';

/** One worker's run of one deployment: what its steps share. */
export class DeploymentRun {
  readonly deps: WorkshopDeps;
  readonly service: ServiceRow;
  readonly variables: Record<string, string>;
  readonly signal: AbortSignal;
  readonly channel: LogChannel;
  #deployment: DeploymentRow;

  constructor(init: {
    deps: WorkshopDeps;
    deployment: DeploymentRow;
    service: ServiceRow;
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

  /** The route has moved to this release: it can only go live any more. */
  get routeSwitched(): boolean {
    return this.#deployment.went_live_at !== null;
  }

  markSwitched(): void {
    this.#deployment = { ...this.#deployment, went_live_at: new Date() };
  }

  get claim(): Claim {
    return { id: this.#deployment.id, fence: this.#deployment.fence };
  }

  /** Ends the running step and begins the next. Throws `Interrupted` where another worker has taken over. */
  async advance(change: StepChange, db: Db = this.deps.db): Promise<void> {
    if (!(await advanceDeployment(db, this.claim, change))) throw new Interrupted('superseded');
    this.#deployment = {
      ...this.#deployment,
      status: change.to,
      commit_sha: change.commitSha ?? this.#deployment.commit_sha,
      commit_message: change.commitMessage ?? this.#deployment.commit_message,
      image_id: change.imageId ?? this.#deployment.image_id,
    };
  }

  /** A line of the platform's own in the deployment's log. */
  async say(message: string, level: LogLevel = 'info'): Promise<void> {
    await this.channel.write('system', message, level);
  }
}
