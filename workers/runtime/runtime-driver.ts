import type { ImageManifest } from '../../shared/images/model.js';
import type { AttemptOutcome } from '../../shared/runs/model.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { ServiceKind } from '../../shared/services/model.js';
import type { ReplicaRow } from '../replicas/rows.js';

/** What a runtime needs to run one release, from its deployment's snapshot. */
export interface ReleaseSpec {
  deploymentId: string;
  serviceId: string;
  workspaceId: string;
  userNumber: number;
  kind: ServiceKind;
  /** Only one replica at a time may use the volumes. */
  hasVolumes?: boolean;
  /** The service's name at the edge and in its private network. */
  slug: string;
  alias?: string;
  /** Services of one environment share a private network. */
  environmentId: string | null;
  configuration: ServiceConfiguration;
  image: { id: string; digest: string; manifest: ImageManifest };
  /** The variables of the image, overridden by those of the service. The runtime adds PORT. */
  environment: Record<string, string>;
}

export interface RunAttempt {
  runId: string;
  runNumber: number;
  /** Counted from 1. */
  attempt: number;
  timeoutMs: number;
}

/**
 * Keeps releases running, and records their state in the table `replicas`. Every method is idempotent and continues
 * what an earlier worker started.
 */
export interface RuntimeDriver {
  /** Starts to supervise replicas, and adopts those that are still running. */
  start(): Promise<void>;
  /**
   * Releases keep running, and another worker adopts them. If `platformEnds`, releases that cannot run without the
   * platform are stopped. They start again with the platform.
   */
  close(platformEnds?: boolean): Promise<void>;
  /**
   * Starts the replicas of a release, while those of other releases keep running. Resolves when all are ready. Throws
   * `ReleaseError`.
   */
  release(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Sends SIGTERM, then SIGKILL after the grace period. Resolves when no replica is left. */
  stop(deploymentId: string): Promise<void>;
  /** Adds or removes replicas, and does not restart the remaining ones. Throws `ReleaseError`. */
  scale(spec: ReleaseSpec, replicas: number, signal: AbortSignal): Promise<void>;
  /** The old replicas get requests until the new ones are ready. Throws `ReleaseError`. */
  restart(spec: ReleaseSpec, signal: AbortSignal): Promise<void>;
  /** Returns the replicas that are not stopped, each with the port on which its application listens. */
  inspect(deploymentId: string): Promise<ReplicaRow[]>;
  /**
   * Runs the command of a run once. If an attempt is already in progress, even in another worker, waits for that
   * attempt. If the signal aborts, rejects with its reason, and the command continues. Throws `ReleaseError`.
   */
  runAttempt(spec: ReleaseSpec, attempt: RunAttempt, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Stops the attempts of a run. Resolves when none of them is left. */
  stopRun(runId: string): Promise<void>;
}
