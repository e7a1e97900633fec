import type { BuiltImage } from '../../shared/images/model.js';
import type { LogLevel } from '../../shared/logs/model.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import type { Work } from '../engine/perform-record.js';
import type { LogChannel } from '../logs/log-sink.js';
import type { DeployedService } from '../releases/deployment-parts.js';
import type { JobDeps } from '../worker-deps.js';
import type { HeldDeployment } from './deployment-changes.js';

interface RunParts {
  readonly deps: JobDeps;
  readonly service: DeployedService;
  readonly variables: Record<string, string>;
  readonly channel: LogChannel;
}

/** The state that the steps of a deployment share while one worker runs it. */
export interface DeploymentRun extends RunParts {
  image: BuiltImage | null;
  /** The deployment as of its most recent event. */
  readonly deployment: HeldDeployment;
  readonly signal: AbortSignal;
  readonly helpers: JobHelpers;
  say(message: string, level?: LogLevel): Promise<void>;
}

/** Creates the state of a deployment. `repository` is the decrypted URL, as it was when the deployment was queued. */
export function openRun(work: Work<HeldDeployment>, repository: string, parts: RunParts): DeploymentRun {
  return {
    ...parts,
    image: null,
    get deployment() {
      return { ...work.record, configuration: { ...work.record.configuration, repository } };
    },
    get signal() {
      return work.signal;
    },
    get helpers() {
      return { ...work.helpers, signal: work.signal };
    },
    say: (message, level = 'info') => parts.channel.write('system', message, level),
  };
}
