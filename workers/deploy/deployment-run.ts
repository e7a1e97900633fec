import type { BuiltImage } from '../../shared/images/model.js';
import type { LogLevel } from '../../shared/logs/model.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { Work } from '../engine/perform-record.js';
import type { LogChannel } from '../logs/log-sink.js';
import type { DeployedService } from '../releases/deployment-parts.js';
import type { JobDeps } from '../worker-deps.js';
import type { HeldDeployment } from './deployment-changes.js';

/** The state that the steps of a deployment share while one worker runs it. */
export class DeploymentRun {
  readonly deps: JobDeps;
  readonly service: DeployedService;
  readonly variables: Record<string, string>;
  readonly channel: LogChannel;
  image: BuiltImage | null = null;
  readonly #work: Work<HeldDeployment>;
  readonly #repository: HeldDeployment['configuration']['repository'];

  constructor(init: {
    deps: JobDeps;
    work: Work<HeldDeployment>;
    service: DeployedService;
    variables: Record<string, string>;
    /** The repository's URL at the time when the deployment was queued, unsealed. */
    repository: HeldDeployment['configuration']['repository'];
    channel: LogChannel;
  }) {
    this.deps = init.deps;
    this.service = init.service;
    this.variables = init.variables;
    this.channel = init.channel;
    this.#work = init.work;
    this.#repository = init.repository;
  }

  /** The deployment as of its most recent event. */
  get deployment(): HeldDeployment {
    const { record } = this.#work;
    return { ...record, configuration: { ...record.configuration, repository: this.#repository } };
  }

  get signal(): AbortSignal {
    return this.#work.signal;
  }

  get helpers(): JobHelpers {
    return { ...this.#work.helpers, signal: this.signal };
  }

  /** Writes a line to the deployment's log, as output of the platform. */
  async say(message: string, level: LogLevel = 'info'): Promise<void> {
    await this.channel.write('system', message, level);
  }
}
